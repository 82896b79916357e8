"""Schema to normal form: what each subschema, or its negation, allows at one instance location.

One ``Normaliser`` works on one compilation. ``positive`` and ``negative`` give the ``Shape`` of a site and remember it; they look only at
keywords that apply to the same value (``allOf``, ``$ref``, ``not`` ...) and leave members to ``Expr`` names, so recursion through
members costs nothing here, and recursion without members is an endless ``$ref`` and an error.
"""

from __future__ import annotations

import json
from typing import Any

from scansion.errors import GrammarError, LimitError
from scansion.json_schema import array_keywords, negation, object_keywords, scalar_keywords, unevaluated
from scansion.json_schema.documents import Documents, Site, escape
from scansion.json_schema.json_values import kind_of
from scansion.json_schema.keywords import (
    APPLY,
    ARRAY,
    KEYWORDS,
    NUMBER,
    OBJECT,
    REF,
    STRING,
    TYPE,
    TYPE_ANY,
    TYPE_ARRAY,
    TYPE_INTEGER,
    TYPE_NUMBER,
    TYPE_OBJECT,
    TYPE_STRING,
    TYPES,
    UNEVALUATED,
    VALUES,
    schema_list,
    schema_map,
    type_mask,
)
from scansion.json_schema.one_of import exactly_one
from scansion.json_schema.options import SchemaOptions
from scansion.json_schema.scalars import ANY_NUMBER, ANY_STRING
from scansion.json_schema.shape_algebra import conjoin, unite, unite_all, with_key, without_key
from scansion.json_schema.shapes import (
    ALL_LITERALS,
    ANY,
    ANY_ARRAY,
    ANY_OBJECT,
    NOTHING,
    ArrayAlternative,
    Expr,
    ObjectAlternative,
    Shape,
)

__all__ = ["MAX_APPLICATOR_DEPTH", "Normaliser", "place"]

MAX_APPLICATOR_DEPTH = 100  # nesting of allOf, anyOf, $ref ... that apply to one value
_LONG = 8  # schemas of a conjunction past which the conjunctions of its beginnings are remembered too
_BUSY = Shape()
_LOCAL = TYPE | STRING | NUMBER | OBJECT | ARRAY
_BEYOND_LOCAL = VALUES | REF | APPLY | UNEVALUATED
_PLAIN_TYPES = {name: {"type": name} for name in TYPES}
_SCALAR_TYPES = {
    "null": Shape(1),
    "boolean": Shape(6),
    "string": Shape(0, None, ANY_STRING),
    "object": Shape(0, None, None, (ANY_OBJECT,)),
    "array": Shape(0, None, None, (), (ANY_ARRAY,)),
    "number": Shape(0, ANY_NUMBER),
}


class _UnfinishedError(Exception):
    """A pruning test needs a shape that is not finished yet. Never leaves this module."""


class Normaliser:
    """Normal forms of the sites of one compilation.

    Attributes:
        documents: where sites come from.
        options: how scalars are spelled, whether formats bind.
        unions: sites that stand for a union of expressions (``any_of``).
        exact: while set, alternatives that track what they evaluate exclude each other (see ``unevaluated``).
    """

    def __init__(self, documents: Documents, options: SchemaOptions) -> None:
        self.documents = documents
        self.options = options
        self._depth = 0
        self._shapes: dict[Expr, Shape] = {(): ANY, None: NOTHING}
        self._impossible: dict[Expr, bool] = {(): False, None: True}
        self._checking = 0
        self.unions: dict[int, tuple[Expr, ...]] = {}
        self._alike: dict[Any, int] = {}
        self._representatives: dict[Expr, Expr] = {}
        self.exact = False
        self._plain: dict[str, Expr] = {}
        self._share_plain = "type" not in options.lenient

    # Expressions

    def child(self, site: Site, schema: Any, suffix: str) -> Expr:
        """The expression of a subschema of ``site``; ``suffix`` is its pointer from there, with the leading slash."""
        if schema is True:
            return ()
        if schema is False:
            return None
        if not isinstance(schema, dict):
            raise GrammarError(
                f"a schema must be an object or a boolean, not {kind_of(schema)}", pointer=site.pointer + suffix, construct="schema"
            )
        bits = 0
        keyword = KEYWORDS.get
        for name in schema:
            bits |= keyword(name, 0)
        return self._child(site, schema, suffix, bits) if bits else ()

    def _child(self, site: Site, schema: dict[str, Any], suffix: str, bits: int) -> Expr:
        """``child`` for a schema object that has keywords of some kinds."""
        if bits == TYPE:
            name = schema["type"]
            if type(name) is str and name in TYPES and self._share_plain:
                expr = self._plain.get(name)
                return expr if expr is not None else self._plain_type(name)
        found = self.documents.below(site, schema, suffix)
        if found.schema is schema:
            found.bits = bits
            if bits == REF:
                return self.expr_of(self.documents.resolve(found, schema["$ref"]))
        return found.expr

    def members(self, site: Site) -> dict[str, Expr]:
        """The expressions of what ``properties`` of a site holds, by key: for each what ``child`` gives, most of them found here.

        A type alone, and a reference met before, need no site of their own.
        """
        found: dict[str, Expr] = {}
        plain, references = self._plain, site.resource.refs
        keyword = KEYWORDS.get
        for name, schema in schema_map(site, site.schema, "properties").items():
            if type(schema) is dict:
                bits = 0
                for word in schema:
                    bits |= keyword(word, 0)
                expr: Expr = None
                if bits == TYPE:
                    value = schema["type"]
                    if type(value) is str:
                        expr = plain.get(value)
                elif bits == REF:
                    value = schema["$ref"]
                    if type(value) is str and value in references and "$id" not in schema and "id" not in schema:
                        found[name] = self.expr_of(references[value])
                        continue
                elif not bits:
                    expr = ()
                if expr is None:
                    expr = self._child(site, schema, "/properties/" + (escape(name) if "/" in name or "~" in name else name), bits)
                found[name] = expr
            else:
                found[name] = self.child(site, schema, f"/properties/{escape(name)}")
        return found

    def _plain_type(self, name: str) -> Expr:
        """The expression that all schemas which only name a type share."""
        site = self.documents.placeless(_PLAIN_TYPES[name])
        site.bits = TYPE
        expr = self._plain[name] = site.expr
        return expr

    def expr_of(self, site: Site) -> Expr:
        """The expression that is one site."""
        if site.schema is True:
            return ()
        if site.schema is False:
            return None
        return site.expr

    def negated(self, expr: Expr) -> Expr:
        """The negation of the expression of one subschema (which has at most one atom)."""
        if expr is None:
            return ()
        if not expr:
            return None
        (atom,) = expr
        return (atom ^ 1,)

    def representative(self, expr: Expr) -> Expr:
        """An expression that means the same, and is the same for subschemas that are written alike."""
        known = self._representatives.get(expr)
        if known is None:
            atoms = []
            for atom in expr:
                site = self.documents.sites[atom >> 1]
                text = json.dumps(site.schema, sort_keys=True, default=str)
                key = (text, atom & 1, site.resource, site.scope, None if "$" not in text else site.pointer)
                atoms.append(self._alike.setdefault(key, atom))
            known = self._representatives[expr] = tuple(atoms)
        return known

    def any_of(self, exprs: tuple[Expr, ...], site: Site, suffix: str) -> Expr:
        """An expression for the union of some."""
        if () in exprs:
            return ()
        union = self.documents.synthetic({"anyOf": []}, site, site.pointer + suffix)
        self.unions[union.index] = exprs
        return (2 * union.index,)

    def shape(self, expr: Expr) -> Shape:
        """The normal form of an expression."""
        sites = self.documents.sites
        if expr and len(expr) == 1:
            atom = expr[0]
            site = sites[atom >> 1]
            if atom & 1:
                return self.negative(site)
            known: Shape | None = site.positive
            return self.positive(site) if known is None or known is _BUSY else known
        shape = self._shapes.get(expr)
        if shape is None:
            begun = 0
            shape = ANY
            if len(expr) > _LONG:  # such grow by one schema at a time: what is known of the longest beginning is used
                begun = next((length for length in range(len(expr) - 1, 0, -1) if expr[:length] in self._shapes), 0)
                shape = self._shapes[expr[:begun]]
            for length, atom in enumerate(expr[begun:], begun + 1):
                site = sites[atom >> 1]
                shape = conjoin(self, shape, self.negative(site) if atom & 1 else self.positive(site), site)
                if length >= _LONG:
                    self._shapes[expr[:length]] = shape
            self._shapes[expr] = shape
        return shape

    def glimpse(self, expr: Expr) -> Shape | None:
        """The normal form of an expression, or None where that leads too deep or back to one that is being found."""
        if self._checking > 24:
            return None
        self._checking += 1
        try:
            return self.shape(expr)
        except _UnfinishedError:
            return None
        finally:
            self._checking -= 1

    def impossible(self, expr: Expr) -> bool:
        """Whether an expression is known to allow nothing, without looking into containers. Used to prune alternatives."""
        known = self._impossible.get(expr)
        if known is None:
            self._impossible[expr] = False  # while it is being looked at: a recursive schema is not known to be empty
            shape = self.glimpse(expr)
            if shape is None:
                del self._impossible[expr]
                return False  # only a pruning is missed: the exact test is made on the finished rules
            try:
                known = not (
                    shape.literals
                    or shape.objects
                    or shape.arrays
                    or (shape.strings is not None and not shape.strings.is_empty)
                    or (shape.numbers is not None and not shape.numbers.is_empty)
                )
            except LimitError as error:
                if error.limit != "language_states":
                    raise
                known = False  # as above
            self._impossible[expr] = known
        return known

    def words(self, site: Site, keyword: str) -> str:
        """Where a limit was met, for its message."""
        return f"#{site.pointer}/{keyword}" if keyword else f"#{site.pointer}"

    # Shapes of sites

    def positive(self, site: Site, tracking: bool = False) -> Shape:
        """What the site allows. ``tracking``: alternatives say what they evaluate, for an ``unevaluated*`` further out."""
        if tracking and self.exact:  # not remembered; ends, as everything here does, at the depth limit
            self._enter(site)
            try:
                return self._positive(site, True)
            finally:
                self._depth -= 1
        shape: Shape | None = site.tracked if tracking else site.positive
        if shape is not None:
            if shape is _BUSY:
                raise self._endless(site)
            return shape
        self._enter(site)
        if tracking:
            site.tracked = _BUSY
        else:
            site.positive = _BUSY
        try:
            shape = self._positive(site, tracking)
        except BaseException as error:
            if tracking:
                site.tracked = None
            else:
                site.positive = None
            place(error, site)
            raise
        finally:
            self._depth -= 1
        if tracking:
            site.tracked = shape
        else:
            site.positive = shape
        return shape

    def negative(self, site: Site) -> Shape:
        """What the site does not allow."""
        shape: Shape | None = site.negative
        if shape is not None:
            if shape is _BUSY:
                raise self._endless(site)
            return shape
        self._enter(site)
        site.negative = _BUSY
        try:
            shape = negation.negative(self, site)
        except BaseException as error:
            site.negative = None
            place(error, site)
            raise
        finally:
            self._depth -= 1
        site.negative = shape
        return shape

    def _endless(self, site: Site) -> Exception:
        """A site was reached again while its shape was being found: an endless reference, unless a pruning just looked too deep."""
        if self._checking:
            return _UnfinishedError()
        return site.wrong("the schema refers to itself without end", hint="a $ref must lead through a property or an item")

    def _enter(self, site: Site) -> None:
        self._depth += 1
        if self._depth > MAX_APPLICATOR_DEPTH:
            self._depth -= 1
            if self._checking:
                raise _UnfinishedError
            raise LimitError(
                f"#{site.pointer[:80]}: allOf, anyOf, oneOf, not and $ref are nested more than {MAX_APPLICATOR_DEPTH} deep on one value",
                limit="applicator_depth",
                allowed=MAX_APPLICATOR_DEPTH,
            )

    def bits(self, site: Site) -> int:
        """The kinds of keyword a site has."""
        bits = site.bits
        if bits < 0:
            bits = 0
            if isinstance(site.schema, dict):
                for name in site.schema:
                    bits |= KEYWORDS.get(name, 0)
            site.bits = bits
        return bits

    def part(self, site: Site, schema: Any, suffix: str, tracking: bool = False) -> Shape:
        """The shape of a subschema that applies to the same value."""
        if tracking and isinstance(schema, dict):
            return self.positive(self.documents.site(schema, site.pointer + suffix, site.resource, site.scope, site.depth + 1), True)
        return self.shape(self.child(site, schema, suffix))

    def _positive(self, site: Site, tracking: bool) -> Shape:
        schema = site.schema
        if schema is True:
            return ANY
        if schema is False:
            return NOTHING
        if site.index in self.unions:
            return unite_all(self.shape(expr) for expr in self.unions[site.index])
        bits = self.bits(site)
        if bits & REF and site.resource.ref_alone and "$ref" in schema:
            return self.positive(self.documents.target(site, "$ref"), tracking)
        if bits == TYPE:
            plain = _SCALAR_TYPES.get(schema["type"]) if isinstance(schema["type"], str) else None
            if plain is not None:
                return plain
        if not bits & _BEYOND_LOCAL:
            return self._local(site, bits, tracking)
        if bits & UNEVALUATED:
            return unevaluated.positive(self, site, bits, tracking)
        return self.evaluating(site, bits, tracking)

    def evaluating(self, site: Site, bits: int, tracking: bool) -> Shape:
        """The shape of all keywords but ``unevaluatedProperties`` and ``unevaluatedItems``."""
        schema = site.schema
        shape = self._local(site, bits, tracking)
        if bits & VALUES:
            shape = conjoin(self, shape, scalar_keywords.values(self, site), site)
        if bits & REF:
            for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
                if keyword in schema:
                    shape = conjoin(self, shape, self.positive(self.documents.target(site, keyword), tracking), site)
        if bits & APPLY:
            shape = self._applicators(site, shape, tracking)
        return shape

    def _local(self, site: Site, bits: int, tracking: bool) -> Shape:
        """``type`` and the keywords that constrain one type each."""
        if not bits & _LOCAL:
            return ANY  # the very object: conjunctions with it cost nothing
        types = TYPE_ANY
        if bits & TYPE:
            name = site.schema["type"]
            types = TYPES[name] if type(name) is str and name in TYPES else type_mask(site, name)
        numbers = strings = None
        if types & (TYPE_NUMBER | TYPE_INTEGER):
            numbers = scalar_keywords.numbers(self, site, bits, not types & TYPE_NUMBER)
        if types & TYPE_STRING:
            strings = scalar_keywords.strings(self, site, bits)
        objects: tuple[ObjectAlternative, ...] = ()
        if types & TYPE_OBJECT:
            objects = (object_keywords.alternative(self, site, tracking),) if bits & OBJECT else (ANY_OBJECT,)
        arrays: tuple[ArrayAlternative, ...] = ()
        if types & TYPE_ARRAY:
            arrays = (array_keywords.alternative(self, site, tracking),) if bits & ARRAY else (ANY_ARRAY,)
        return Shape(types & ALL_LITERALS, numbers, strings, objects, arrays)

    def _applicators(self, site: Site, shape: Shape, tracking: bool) -> Shape:
        schema = site.schema
        if "allOf" in schema:
            for i, part in enumerate(schema_list(site, schema, "allOf")):
                shape = conjoin(self, shape, self.part(site, part, f"/allOf/{i}", tracking), site, f"allOf/{i}")
        if "anyOf" in schema:
            branches = [self.part(site, part, f"/anyOf/{i}", tracking) for i, part in enumerate(schema_list(site, schema, "anyOf"))]
            if tracking:
                exprs = [self.child(site, part, f"/anyOf/{i}") for i, part in enumerate(schema["anyOf"])]
                united = unevaluated.any_subset(self, site, exprs, branches)
            else:
                united = unite_all(branches)
            shape = conjoin(self, shape, united, site, "anyOf")
        if "oneOf" in schema:
            parts = schema_list(site, schema, "oneOf")
            exprs = [self.child(site, part, f"/oneOf/{i}") for i, part in enumerate(parts)]
            branches = [self.part(site, part, f"/oneOf/{i}", tracking) for i, part in enumerate(parts)]
            shape = conjoin(self, shape, exactly_one(self, site, exprs, branches, shape), site, "oneOf")
        if "not" in schema:
            shape = conjoin(self, shape, self.shape(self.negated(self.child(site, schema["not"], "/not"))), site, "not")
        if "if" in schema and ("then" in schema or "else" in schema or tracking):
            shape = conjoin(self, shape, self._conditional(site, tracking), site, "if")
        for keyword in ("dependentSchemas", "dependencies"):
            if keyword in schema:
                for name, part in schema_map(site, schema, keyword).items():
                    if isinstance(part, list):
                        continue  # a name list of draft 4 to 7: read with the object keywords
                    held = self.part(site, part, f"/{keyword}/{escape(name)}", tracking)
                    present = conjoin(self, with_key(name), held, site, keyword)
                    shape = conjoin(self, shape, unite(without_key(name), present), site, keyword)
        return shape

    def _conditional(self, site: Site, tracking: bool) -> Shape:
        schema = site.schema
        condition = self.child(site, schema["if"], "/if")
        holds = self.part(site, schema["if"], "/if", tracking)
        fails = self.shape(self.negated(condition))
        if "then" in schema:
            holds = conjoin(self, holds, self.part(site, schema["then"], "/then", tracking), site, "then")
        if "else" in schema:
            fails = conjoin(self, fails, self.part(site, schema["else"], "/else", tracking), site, "else")
        return unite(holds, fails)


def place(error: BaseException, site: Site) -> None:
    """Say where a bound was met, if that is not said yet: numbers and patterns do not know their place."""
    if isinstance(error, LimitError) and not str(error).startswith("#"):
        error.args = (f"#{site.pointer}: {error}",)
