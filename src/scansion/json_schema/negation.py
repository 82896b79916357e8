"""The negation of a schema: pushed inward by De Morgan until it is a complement of a scalar set, a key that must be missing, a count, or
an obligation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scansion.json_schema import array_keywords, object_keywords, scalar_keywords, unevaluated
from scansion.json_schema.documents import Site, escape
from scansion.json_schema.keywords import (
    APPLY,
    ARRAY,
    OBJECT,
    REF,
    TYPE,
    TYPE_ANY,
    TYPE_ARRAY,
    TYPE_OBJECT,
    TYPE_STRING,
    UNEVALUATED,
    VALUES,
    schema_list,
    schema_map,
    type_mask,
)
from scansion.json_schema.scalars import ANY_STRING
from scansion.json_schema.shape_algebra import conjoin, unite, with_key
from scansion.json_schema.shapes import ALL_LITERALS, ANY, ANY_ARRAY, ANY_OBJECT, NOTHING, Shape, both

if TYPE_CHECKING:
    from scansion.json_schema.normal_form import Normaliser

__all__ = ["negative"]


def negative(norm: Normaliser, site: Site) -> Shape:
    """What a site does not allow; not remembered here."""
    schema = site.schema
    if schema is True:
        return NOTHING
    if schema is False:
        return ANY
    if site.index in norm.unions:
        none = ANY
        for expr in norm.unions[site.index]:
            none = conjoin(norm, none, norm.shape(norm.negated(expr)), site)
        return none
    bits = norm.bits(site)
    if bits & REF and site.resource.ref_alone and "$ref" in schema:
        return norm.negative(norm.documents.target(site, "$ref"))
    shape = _local(norm, site, bits)
    if bits & VALUES:
        shape = unite(shape, scalar_keywords.other_values(norm, site))
    if bits & REF:
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if keyword in schema:
                shape = unite(shape, norm.negative(norm.documents.target(site, keyword)))
    if bits & APPLY:
        shape = _applicators(norm, site, shape)
    if bits & UNEVALUATED:
        shape = unite(shape, unevaluated.violated(norm, site, bits))
    return shape


def _local(norm: Normaliser, site: Site, bits: int) -> Shape:
    types = type_mask(site, site.schema["type"]) if bits & TYPE else TYPE_ANY
    strings: Any = ANY_STRING
    if types & TYPE_STRING:
        strings = scalar_keywords.other_strings(norm, site, bits)
    objects: tuple[Any, ...] = (ANY_OBJECT,)
    if types & TYPE_OBJECT:
        objects = object_keywords.violations(norm, site) if bits & OBJECT else ()
    arrays: tuple[Any, ...] = (ANY_ARRAY,)
    if types & TYPE_ARRAY:
        arrays = array_keywords.violations(norm, site) if bits & ARRAY else ()
    return Shape(ALL_LITERALS & ~types, scalar_keywords.other_numbers(norm, site, bits, types), strings, objects, arrays)


def _applicators(norm: Normaliser, site: Site, shape: Shape) -> Shape:
    schema = site.schema
    if "allOf" in schema:
        for i, part in enumerate(schema_list(site, schema, "allOf")):
            shape = unite(shape, norm.shape(norm.negated(norm.child(site, part, f"/allOf/{i}"))))
    if "anyOf" in schema:
        none = ANY
        for i, part in enumerate(schema_list(site, schema, "anyOf")):
            none = conjoin(norm, none, norm.shape(norm.negated(norm.child(site, part, f"/anyOf/{i}"))), site, "anyOf")
        shape = unite(shape, none)
    if "oneOf" in schema:
        exprs = [norm.child(site, part, f"/oneOf/{i}") for i, part in enumerate(schema_list(site, schema, "oneOf"))]
        none = ANY
        for i, expr in enumerate(exprs):
            none = conjoin(norm, none, norm.shape(norm.negated(expr)), site, "oneOf")
            for other in exprs[:i]:
                shape = unite(shape, norm.shape(both(expr, other)))
        shape = unite(shape, none)
    if "not" in schema:
        shape = unite(shape, norm.shape(norm.child(site, schema["not"], "/not")))
    if "if" in schema:
        condition = norm.child(site, schema["if"], "/if")
        if "then" in schema:
            failed = norm.shape(norm.negated(norm.child(site, schema["then"], "/then")))
            shape = unite(shape, conjoin(norm, norm.shape(condition), failed, site, "then"))
        if "else" in schema:
            failed = norm.shape(norm.negated(norm.child(site, schema["else"], "/else")))
            shape = unite(shape, conjoin(norm, norm.shape(norm.negated(condition)), failed, site, "else"))
    for keyword in ("dependentSchemas", "dependencies"):
        if keyword in schema:
            for name, part in schema_map(site, schema, keyword).items():
                if not isinstance(part, list):
                    failed = norm.shape(norm.negated(norm.child(site, part, f"/{keyword}/{escape(name)}")))
                    shape = unite(shape, conjoin(norm, with_key(name), failed, site, keyword))
    return shape
