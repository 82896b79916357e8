"""The declared order of an object's keys at one instance location.

As they appear reading the schema line by line: ``properties`` and those of every schema that applies to the same object, left to
right, the first appearance of a name wins. One order holds for all alternatives of a location.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scansion.json_schema.documents import Site
from scansion.json_schema.shapes import Expr

if TYPE_CHECKING:
    from scansion.json_schema.normal_form import Normaliser

__all__ = ["declared_names"]

_ONE = frozenset(("if", "then", "else", "not"))
_LIST = frozenset(("allOf", "anyOf", "oneOf"))
_MAP = frozenset(("dependentSchemas", "dependencies"))
_REFERENCE = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))


def declared_names(norm: Normaliser, expr: Expr) -> dict[str, int]:
    """Name to position for every name declared by the schemas of an expression."""
    sites = norm.documents.sites
    order: dict[str, int] = {}
    for atom in expr or ():
        for name in _names_of(norm, sites[atom >> 1]):
            order.setdefault(name, len(order))
    return order


def _names_of(norm: Normaliser, site: Site) -> list[str]:
    known: list[str] | None = site.order
    if known is not None:
        return known
    names: dict[str, None] = {}
    site.order = []  # a schema that comes back to itself adds nothing new
    schema = site.schema
    if isinstance(schema, dict):
        if "$ref" in schema and site.resource.ref_alone:
            names.update(dict.fromkeys(_names_of(norm, norm.target(site, "$ref"))))
        else:
            for keyword, value in schema.items():
                _add(norm, site, keyword, value, names)
    found = list(names)
    site.order = found
    return found


def _add(norm: Normaliser, site: Site, keyword: str, value: Any, names: dict[str, None]) -> None:
    if keyword == "properties":
        if isinstance(value, dict):
            names.update(dict.fromkeys(value))
    elif keyword in _LIST:
        if isinstance(value, list):
            for i, part in enumerate(value):
                _add_part(norm, site, part, f"/{keyword}/{i}", names)
    elif keyword in _ONE:
        _add_part(norm, site, value, f"/{keyword}", names)
    elif keyword in _MAP:
        if isinstance(value, dict):
            for name, part in value.items():
                _add_part(norm, site, part, f"/{keyword}/{name}", names)
    elif keyword in _REFERENCE:
        names.update(dict.fromkeys(_names_of(norm, norm.target(site, keyword))))
    elif keyword == "enum" or keyword == "const":
        for constant in value if keyword == "enum" else (value,):
            if isinstance(constant, dict):
                names.update(dict.fromkeys(constant))


def _add_part(norm: Normaliser, site: Site, part: Any, suffix: str, names: dict[str, None]) -> None:
    if not isinstance(part, dict):
        return
    for atom in norm.child(site, part, suffix) or ():
        names.update(dict.fromkeys(_names_of(norm, norm.documents.sites[atom >> 1])))
