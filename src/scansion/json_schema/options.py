"""Options of the JSON Schema front end, checked by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from scansion.errors import GrammarError
from scansion.program.whitespace import WHITESPACE_POLICIES

__all__ = ["SchemaOptions"]

_CHOICES = {
    "whitespace": WHITESPACE_POLICIES,
    "property_order": ("declared", "any"),
    "spelling": ("canonical", "any"),
    "formats": ("enforce", "annotate", "strict"),
    "integers": ("plain", "any"),
}

# Keywords that only name or locate schemas cannot be dropped without changing what others mean.
_STRUCTURAL = frozenset(("$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$defs", "definitions"))


class SchemaOptions:
    """How a schema is read and how its instances are written. Immutable; the first value listed is the default.

    Args:
        whitespace: ``bounded`` | ``flexible`` | ``spaced`` | ``compact``.
        property_order: ``declared`` | ``any``.
        spelling: ``canonical`` | ``any``, of declared keys and of ``const`` and ``enum`` values.
        formats: ``enforce`` | ``annotate`` | ``strict`` (enforce, and refuse formats nobody knows).
        integers: ``plain`` | ``any`` (``1.0`` and ``1e2`` are integers too).
        resources: documents for references that leave the schema: URL to JSON document.
        lenient: names of keywords to read as annotations.

    Raises:
        GrammarError: a value that is not one of those listed; ``construct`` is the option's name.
    """

    __slots__ = ("formats", "integers", "key", "lenient", "property_order", "resources", "spelling", "whitespace")

    def __init__(
        self,
        *,
        whitespace: str = "bounded",
        property_order: str = "declared",
        spelling: str = "canonical",
        formats: str = "enforce",
        integers: str = "plain",
        resources: Mapping[str, Any] | None = None,
        lenient: Collection[str] = (),
    ) -> None:
        if (
            whitespace not in WHITESPACE_POLICIES
            or property_order not in ("declared", "any")
            or spelling not in ("canonical", "any")
            or formats not in ("enforce", "annotate", "strict")
            or integers not in ("plain", "any")
        ):
            given = {
                "whitespace": whitespace,
                "property_order": property_order,
                "spelling": spelling,
                "formats": formats,
                "integers": integers,
            }
            for name, value in given.items():
                if value not in _CHOICES[name]:
                    raise GrammarError(f"{name} is {value!r}", construct=name, hint=f"use one of {', '.join(_CHOICES[name])}")
        if resources is not None and not isinstance(resources, Mapping):
            raise GrammarError("resources must map URLs to JSON documents", construct="resources", hint="pass {url: document}")
        self.whitespace = whitespace
        self.property_order = property_order
        self.spelling = spelling
        self.formats = formats
        self.integers = integers
        self.resources = resources
        self.lenient = frozenset(lenient) if lenient else frozenset()
        if lenient:
            if isinstance(lenient, str) or not all(isinstance(name, str) for name in lenient):
                raise GrammarError("lenient must be a collection of keyword names", construct="lenient", hint='pass {"uniqueItems"}')
            if self.lenient & _STRUCTURAL:
                names = ", ".join(sorted(self.lenient & _STRUCTURAL))
                raise GrammarError(f"{names} cannot be read as an annotation", construct="lenient", hint="name a keyword that constrains")
        # What a cache of compiled schemas needs to tell options apart (resources are not cached by content).
        self.key = (whitespace, property_order, spelling, formats, integers, self.lenient)
