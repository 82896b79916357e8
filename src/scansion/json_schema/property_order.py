"""The declared orders of an object's keys at one instance location.

As they appear reading the schema line by line: ``properties`` and those of every schema that applies to the same object, left to
right, the first appearance of a name wins. This order holds for all alternatives of a location. An alternative (a branch of an
``anyOf``) may also be written in the order one reads when the branches it has no part in are skipped: two branches that share
keys may list them differently.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from scansion.json_schema.documents import Site, escape
from scansion.json_schema.shapes import Expr, ObjectAlternative

if TYPE_CHECKING:
    from scansion.json_schema.normal_form import Normaliser

__all__ = ["declared_names", "own_order"]

_ONE = frozenset(("if", "then", "else", "not"))
_LIST = frozenset(("allOf", "anyOf", "oneOf"))
_MAP = frozenset(("dependentSchemas", "dependencies"))
_REFERENCE = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))


Reading = list[tuple[int, Iterable[str]]]  # names as one comes upon them, with the index of the site whose ``properties`` they are (or -1)


def declared_names(norm: Normaliser, expr: Expr) -> dict[str, int]:
    """Name to position for every name declared by the schemas of an expression."""
    return _positions(_read(norm, expr))


def own_order(norm: Normaliser, expr: Expr, alternative: ObjectAlternative, order: dict[str, int]) -> dict[str, int]:
    """Name to position as the schemas of one alternative declare them; then all other names as ``order`` has them."""
    sites = {facet.site for facet in alternative.facets}
    return _positions([*(entry for entry in _read(norm, expr) if entry[0] >= 0 and entry[0] in sites), (-1, order)])


def _positions(reading: Reading) -> dict[str, int]:
    names: dict[str, None] = {}
    for _, listed in reading:
        names.update(dict.fromkeys(listed))
    return dict(zip(names, range(len(names)), strict=True))


def _read(norm: Normaliser, expr: Expr) -> Reading:
    sites = norm.documents.sites
    return [entry for atom in expr or () for entry in _read_site(norm, sites[atom >> 1])]


def _read_site(norm: Normaliser, site: Site) -> Reading:
    known: Reading | None = site.order
    if known is not None:
        return known
    reading: Reading = []
    site.order = []  # a schema that comes back to itself adds nothing new
    schema = site.schema
    if isinstance(schema, dict):
        if "$ref" in schema and site.resource.ref_alone:
            reading = _read_site(norm, norm.documents.target(site, "$ref"))
        else:
            for keyword, value in schema.items():
                _add(norm, site, keyword, value, reading)
    site.order = reading
    return reading


def _add(norm: Normaliser, site: Site, keyword: str, value: Any, reading: Reading) -> None:
    if keyword == "properties":
        if isinstance(value, dict):
            reading.append((site.index, value))
    elif keyword in _LIST:
        if isinstance(value, list):
            for i, part in enumerate(value):
                _add_part(norm, site, part, f"/{keyword}/{i}", reading)
    elif keyword in _ONE:
        _add_part(norm, site, value, f"/{keyword}", reading)
    elif keyword in _MAP:
        if isinstance(value, dict):
            for name, part in value.items():
                _add_part(norm, site, part, f"/{keyword}/{escape(name)}", reading)
    elif keyword in _REFERENCE:
        reading += _read_site(norm, norm.documents.target(site, keyword))
    elif keyword == "enum" or keyword == "const":
        for constant in value if keyword == "enum" else (value,):
            if isinstance(constant, dict):
                reading.append((-1, constant))


def _add_part(norm: Normaliser, site: Site, part: Any, suffix: str, reading: Reading) -> None:
    if isinstance(part, dict):
        reading += _read(norm, norm.child(site, part, suffix))
