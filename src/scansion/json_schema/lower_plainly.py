"""Schema objects that say everything about their value themselves, straight from their keywords to a rule.

Most subschemas are a ``type`` and a few keywords of that type. Their normal form would be one alternative of one facet, made to be read
once. What is written here is what ``lower`` writes from that form; whatever takes more (references, applicators, key
patterns, several sets of values) is left to it, and so is every mistake that it has words for.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from scansion._kernel import ARRAY as ARRAY_NODE
from scansion._kernel import JSON_STRING, LEX, TEXT, Language
from scansion._kernel import OBJECT as OBJECT_NODE
from scansion.errors import LimitError
from scansion.json_schema.documents import Site
from scansion.json_schema.keywords import (
    ARRAY,
    NUMBER,
    OBJECT,
    STRING,
    TYPE,
    TYPE_ANY,
    TYPE_ARRAY,
    TYPE_INTEGER,
    TYPE_NUMBER,
    TYPE_OBJECT,
    TYPE_STRING,
    TYPES,
    VALUES,
    least,
    most,
    type_mask,
    whole,
)
from scansion.json_schema.lower_arrays import MAX_DIFFERENT
from scansion.json_schema.normal_form import place
from scansion.json_schema.object_keywords import required
from scansion.json_schema.scalar_keywords import numbers, strings
from scansion.json_schema.scalars import ANY_NUMBER, ANYTHING, NumberSet, StringSet, string_text
from scansion.json_schema.shapes import ALL_LITERALS, FALSE, LITERAL_LANGUAGES, NULL, TRUE
from scansion.json_schema.words import describe

if TYPE_CHECKING:
    from scansion.json_schema.lower import Lowering

__all__ = ["write_anything", "written_plainly"]

_TYPED = STRING | NUMBER | OBJECT | ARRAY
_PLAIN = TYPE | VALUES | _TYPED
_WORDED = STRING | NUMBER
_NUMERIC = TYPE_NUMBER | TYPE_INTEGER
_NUMBERS = ANY_NUMBER.language or Language.nothing()
_LITERALS = LITERAL_LANGUAGES[ALL_LITERALS]
# The types whose values are one lexeme: language and encoding. Integers depend on the options.
_LEXEMES = {
    "null": (LITERAL_LANGUAGES[NULL], TEXT),
    "boolean": (LITERAL_LANGUAGES[FALSE | TRUE], TEXT),
    "integer": (Language.nothing(), TEXT),
    "number": (_NUMBERS, TEXT),
    "string": (ANYTHING, JSON_STRING),
}
_SCALAR = ALL_LITERALS | _NUMERIC | TYPE_STRING


def written_plainly(lowering: Lowering, rule: int, site: Site) -> bool:
    """Write the body of a rule for a site, if that can be done from its keywords; whether it was."""
    bits = lowering.norm.bits(site)
    if not bits or bits & ~_PLAIN:
        return False
    types = TYPE_ANY
    if bits & TYPE:
        name = site.schema["type"]
        if bits == TYPE and type(name) is str and name in _LEXEMES:
            _write_type(lowering, rule, site, name)
            return True
        types = TYPES[name] if type(name) is str and name in TYPES else type_mask(site, name)
    if bits & VALUES:
        return bool(types & TYPE_STRING) and not bits & _TYPED and lowering.canonical and _words_written(lowering, rule, site)
    return _types_written(lowering, rule, site, bits, types)


def _write_type(lowering: Lowering, rule: int, site: Site, name: str) -> None:
    """The values of a type that is one lexeme."""
    builder = lowering.builder
    language, encoding = _LEXEMES[name]
    if name == "integer":
        integers = numbers(lowering.norm, site, TYPE, True)
        language = integers.language or language
        lowering.feasibility.numbers[builder.lexeme(language, encoding)] = integers
    builder.rules[rule] = _lexeme(lowering, language, encoding, builder.label(site.pointer) if site.pointer else -1)
    lowering.feasibility.certain(rule)


def _words_written(lowering: Lowering, rule: int, site: Site) -> bool:
    """The strings of ``enum`` or ``const``, in their canonical spelling; False where there are both, or other values."""
    schema = site.schema
    if "enum" not in schema:
        keyword, listed = "const", [schema["const"]]
    elif "const" in schema:
        return False
    else:
        keyword, listed = "enum", schema["enum"]
    if type(listed) is not list or not listed:
        return False
    try:
        plain = "".join(listed).isascii()
    except TypeError:
        return False
    if not plain:
        for word in listed:
            whole(site, word, keyword)
    texts = [string_text(word) for word in dict.fromkeys(listed)]
    language = Language.literals(texts)
    label = lowering.builder.later_label(partial(describe, site.pointer, schema)) if site.pointer else -1
    lowering.builder.rules[rule] = _lexeme(lowering, language, TEXT, label)
    lowering.feasibility.certain(rule)
    return True


def _types_written(lowering: Lowering, rule: int, site: Site, bits: int, types: int) -> bool:
    """The values of some types with the keywords of these; False where arrays take more than is read here."""
    builder, schema, pointer = lowering.builder, site.schema, site.pointer
    bounds = (0, -1, False)
    number_set: NumberSet | None = None
    string_set: StringSet | None = None
    if types & _SCALAR:
        try:
            if types & _NUMERIC:
                number_set = numbers(lowering.norm, site, bits, not types & TYPE_NUMBER)
            if types & TYPE_STRING:
                string_set = strings(lowering.norm, site, bits)
        except LimitError as error:
            place(error, site)
            raise
    if types & TYPE_ARRAY and bits & ARRAY:
        found = _array_bounds(site)
        if found is None:
            return False
        bounds = found
    label = -1
    nodes: list[int] = []
    if types & _SCALAR:
        if pointer:
            label = builder.later_label(partial(describe, pointer, schema)) if bits & _WORDED else builder.label(pointer)
        lowering.write_scalars(rule, types & ALL_LITERALS, number_set, string_set, nodes, label)
    if types & (TYPE_OBJECT | TYPE_ARRAY):
        if pointer and (label < 0 or bits & _WORDED):
            label = builder.label(pointer)
        if types & TYPE_OBJECT:
            index, needed = _object(lowering, site, label)
            node = builder.node(OBJECT_NODE, index, 0, label)
            nodes.append(node)
            lowering.feasibility.add_needing(rule, node, needed)
        if types & TYPE_ARRAY:
            item = lowering.norm.child(site, schema["items"], "/items") if "items" in schema else ()
            index = builder.array([], lowering.rule(item), *bounds, [], label)
            node = builder.node(ARRAY_NODE, index, 0, label)
            nodes.append(node)
            lowering.feasibility.add(rule, node, not bounds[0])
    builder.rules[rule] = nodes[0] if len(nodes) == 1 else builder.alt(nodes, builder.label(pointer) if pointer else -1)
    return True


def write_anything(lowering: Lowering, rule: int) -> None:
    """Write the body of the rule of any value."""
    builder = lowering.builder
    lowering.feasibility.certain(rule)
    builder.rules[rule] = builder.alt(
        [
            _lexeme(lowering, _NUMBERS, TEXT, -1),
            _lexeme(lowering, ANYTHING, JSON_STRING, -1),
            _lexeme(lowering, _LITERALS, TEXT, -1),
            builder.node(OBJECT_NODE, builder.object(0 if lowering.declared else 1, [], [(ANYTHING, rule)])),
            builder.node(ARRAY_NODE, builder.array([], rule, 0, -1, False, [])),
        ]
    )


def _lexeme(lowering: Lowering, language: Language, encoding: int, label: int) -> int:
    """The node of a language that has words."""
    index = lowering.builder.lexeme(language, encoding)
    if language is _NUMBERS:
        lowering.feasibility.numbers[index] = ANY_NUMBER
    return lowering.builder.node(LEX, index, 0, label)


def _array_bounds(site: Site) -> tuple[int, int, bool] | None:
    """``minItems``, ``maxItems`` and ``uniqueItems``; None where arrays have a prefix, no item can come, or a bound is refused."""
    schema = site.schema
    unique = schema.get("uniqueItems", False)
    if not isinstance(unique, bool) or ("items" in schema and not isinstance(schema["items"], dict) and schema["items"] is not True):
        return None
    minimum = least(site, "minItems") if "minItems" in schema else 0
    maximum = most(site, "maxItems") if "maxItems" in schema else -1
    if maximum == 0 or 0 <= maximum < minimum or (unique and minimum > MAX_DIFFERENT):
        return None
    return minimum, maximum, unique


def _object(lowering: Lowering, site: Site, label: int) -> tuple[int, list[int]]:
    """The spec of objects with ``properties``, ``required`` and ``additionalProperties``; its index and the rules of what is required."""
    norm, schema = lowering.norm, site.schema
    rule, known = lowering.rule, lowering.rules.get
    properties: list[tuple[str, int, bool]] = []
    needed: list[int] = []
    listed = required(site) if "required" in schema else ()
    members = norm.members(site) if "properties" in schema else {}
    rest = norm.child(site, schema["additionalProperties"], "/additionalProperties") if "additionalProperties" in schema else ()
    if members:
        must = frozenset(listed)
        properties = [(name, rule(expr) if (number := known(expr)) is None else number, name in must) for name, expr in members.items()]
    if listed:
        properties += [(name, rule(rest), True) for name in listed if name not in members]
        needed = [number for _, number, must_come in properties if must_come]
    groups = [] if rest is None else [(ANYTHING, rule(rest))]
    return lowering.builder.object(0 if lowering.declared else 1, properties, groups, len(listed), -1, -1, label), needed
