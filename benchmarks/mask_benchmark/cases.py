"""What is measured: schemas and grammars with texts that keep to them or do not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Case", "Text", "from_folder", "own_cases"]


@dataclass(frozen=True)
class Text:
    text: str
    valid: bool


@dataclass(frozen=True)
class Case:
    """A grammar of one kind (``json_schema``, ``gbnf``, ``lark``) and texts to run against it."""

    name: str
    kind: str
    source: Any
    texts: list[Text]


def from_folder(folder: Path, limit: int | None) -> list[Case]:
    """MaskBench files, ``{"schema": ..., "tests": [{"data": ..., "valid": ...}]}``, in the order of their names."""
    paths = sorted(folder.glob("*.json"))[:limit]
    if not paths:
        raise SystemExit(f"no *.json in {folder}")
    cases = []
    for path in paths:
        content = json.loads(path.read_text(encoding="utf-8"))
        texts = [Text(json.dumps(test["data"], ensure_ascii=False), bool(test["valid"])) for test in content["tests"]]
        cases.append(Case(path.stem, "json_schema", content["schema"], texts))
    return cases


def own_cases() -> list[Case]:
    """The cases that come with the benchmark."""
    return [*_schema_cases(), *_grammar_cases()]


# --- JSON Schema ------------------------------------------------------------------------------------------------------

_NAME = {"type": "string", "minLength": 1, "maxLength": 40}
_ADDRESS = {
    "type": "object",
    "properties": {
        "street": _NAME,
        "city": _NAME,
        "zip": {"type": "string", "pattern": "^[0-9]{5}$"},
        "country": {"enum": ["PT", "ES", "FR"]},
    },
    "required": ["street", "city"],
    "additionalProperties": False,
}
_PERSON = {
    "type": "object",
    "properties": {
        "name": _NAME,
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "email": {"type": "string", "format": "email"},
        "address": _ADDRESS,
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 8},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
_LISBON = {"street": "Rua da Prata 12", "city": "Lisboa", "zip": "11000", "country": "PT"}
_ADA = {"name": "Ada Lovelace", "age": 36, "email": "ada@example.org", "address": _LISBON, "tags": ["mathematics", "engines"]}
_TREE = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"value": {"type": "number"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "required": ["value"],
            "additionalProperties": False,
        }
    },
}
_CALL = {
    "anyOf": [
        {
            "type": "object",
            "properties": {"tool": {"const": name}, "arguments": {"type": "object", "properties": arguments, "required": [*arguments]}},
            "required": ["tool", "arguments"],
        }
        for name, arguments in {
            "search": {"query": {"type": "string"}, "limit": {"type": "integer", "minimum": 1, "maximum": 50}},
            "weather": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}},
            "calculate": {"expression": {"type": "string", "pattern": r"^[0-9+\-*/(). ]+$"}},
        }.items()
    ]
}
_PROSE = (
    "The harbour woke slowly. Nets hung between the boats like curtains, and the first café along the quay had already "
    'set out its chairs; "two coffees", someone called, and a gull answered. By noon the naïve visitor would be lost in the old town. '
)


def _schema_cases() -> Iterator[Case]:
    def case(name: str, schema: Any, valid: list[Any], invalid: list[Any]) -> Case:
        texts = [
            Text(json.dumps(value, ensure_ascii=False), keep) for values, keep in ((valid, True), (invalid, False)) for value in values
        ]
        return Case(name, "json_schema", schema, texts)

    yield case("person", _PERSON, [_ADA, {"name": "Zé", "age": 0}], [_ADA | {"age": 151}, {"age": 3}, _ADA | {"nick": "A"}])
    yield case(
        "people",
        {"type": "array", "items": _PERSON, "minItems": 1},
        [[_ADA] * 4, [{"name": "B", "age": 1}]],
        [[], [_ADA, {"name": "", "age": 1}]],
    )
    yield case(
        "tree", _TREE, [{"value": 1, "children": [{"value": -2.5, "children": []}, {"value": 3e8}]}], [{"value": 1, "children": [{}]}]
    )
    yield case(
        "tool call",
        _CALL,
        [
            {"tool": "search", "arguments": {"query": "cheap flights to Faro", "limit": 5}},
            {"tool": "weather", "arguments": {"city": "Évora", "unit": "celsius"}},
        ],
        [{"tool": "search", "arguments": {"query": "x", "limit": 51}}, {"tool": "call", "arguments": {}}],
    )
    yield case(
        "any object", {"type": "object"}, [{"a": [1, {"b": None}], "c": {"d": "e", "f": [True, False]}}, {"": _PROSE}], [[1], "text", 3]
    )
    yield case("any value", True, [_ADA, [1, 2.5, "three", None, [True]], "text"], [])
    yield case("long text", {"type": "string"}, [_PROSE * 3], [3])
    yield case("bounded text", {"type": "string", "maxLength": 1200}, [_PROSE * 3], [_PROSE * 6])
    yield case(
        "numbers",
        {"type": "array", "items": {"type": "number", "minimum": -10, "exclusiveMaximum": 1000}},
        [[1, -10, 999.99, 0.5, 12, 13, 14.25]],
        [[1000], [-10.1]],
    )
    yield case("integers", {"type": "array", "items": {"type": "integer"}}, [[*range(0, 4000, 97)]], [[1.5]])
    yield case(
        "enumeration",
        {"enum": [f"option number {n} of the {w} kind" for n in range(60) for w in ("first", "second")]},
        ["option number 59 of the second kind"],
        ["option number 60 of the first kind"],
    )
    yield case(
        "wide record",
        {"type": "object", "properties": {f"field_{n}": {"type": ["string", "null"]} for n in range(120)}, "additionalProperties": False},
        [{f"field_{n}": f"value {n}" if n % 3 else None for n in range(0, 120, 2)}],
        [{"field_120": "x"}, {"field_1": 1}],
    )
    yield case(
        "dates",
        {"type": "array", "items": {"type": "string", "format": "date-time"}},
        [["2026-11-30T01:02:03Z", "1999-02-28T23:59:59.5+01:00"]],
        [["2026-11-31T00:00:00Z"], ["2026-02-29T00:00:00Z"]],
    )
    yield case(
        "uuids", {"type": "array", "items": {"type": "string", "format": "uuid"}}, [["123e4567-e89b-12d3-a456-426614174000"]], [["123e"]]
    )
    yield case(
        "map",
        {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}},
        [{"north": [1, 2], "south": [], "north-east": [3]}],
        [{"north": "1"}],
    )
    yield case(
        "pattern",
        {"type": "string", "pattern": "^(?:[A-Z][a-z]+ ){2,4}[A-Z][a-z]+$"},
        ["Maria Joao Rodrigues", "Ana Rita Silva Costa Lima"],
        ["Maria", "maria joao"],
    )


# --- grammars -----------------------------------------------------------------------------------------------------------

_ARITHMETIC_TEXTS = [Text("(12+3)*4-5/(67-8)", True), Text("1+(2*(3-(4/(5+6))))", True), Text("1+*2", False), Text("(1+2", False)]
_JSON_TEXTS = [
    Text('{"a": [1, 2.5, {"b": null}], "c": "x\\ny"}', True),
    Text(json.dumps(_ADA), True),
    Text('{"a": }', False),
    Text("[1,]", False),
]
_C_TEXTS = [
    Text("int main() { int a = 1; while (a < 10) { a = a + 1; } return a; }", True),
    Text("int f(int x) { if (x == 0) { return 1; } return x * f(x - 1); }", True),
    Text("int main() { a = ; }", False),
    Text("int main() { return 1 }", False),
]
_SQL_TEXTS = [
    Text("SELECT name, age FROM people WHERE age > 30 AND city = 'Porto' ORDER BY age DESC LIMIT 10", True),
    Text("SELECT * FROM orders JOIN people ON orders.person = people.id WHERE total > 12.5", True),
    Text("SELECT FROM people", False),
    Text("SELECT name FROM people WHERE", False),
]

_ARITHMETIC_GBNF = r"""
root ::= sum
sum ::= product ([-+] product)*
product ::= factor ([*/] factor)*
factor ::= [0-9]+ | "(" sum ")"
"""
_ARITHMETIC_LARK = r"""
start: sum
sum: product (("+" | "-") product)*
product: factor (("*" | "/") factor)*
factor: NUMBER | "(" sum ")"
NUMBER: /[0-9]+/
"""
_JSON_GBNF = r"""
root ::= value
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (member ("," ws member)*)? "}" ws
member ::= string ":" ws value
array ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\"" ws
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)? ws
ws ::= [ \t\n]*
"""
_JSON_LARK = r"""
start: value
value: object | array | STRING | NUMBER | "true" | "false" | "null"
object: "{" (member ("," member)*)? "}"
member: STRING ":" value
array: "[" (value ("," value)*)? "]"
STRING: /"([^"\\\x00-\x1f]|\\(["\\\/bfnrt]|u[0-9a-fA-F]{4}))*"/
NUMBER: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/
%ignore /[ \t\n]+/
"""
_C_GBNF = r"""
root ::= (function ws)+
function ::= "int" sp name ws "(" ws ("int" sp name ws)? ")" ws block
block ::= "{" ws (statement ws)* "}"
statement ::= ("int" sp)? name ws "=" ws expression ";" | "return" sp expression ";" | ("if" | "while") ws test ws block
test ::= "(" ws expression ws ("==" | "<" | ">") ws expression ws ")"
expression ::= term (ws [-+*/] ws term)* ws
term ::= [0-9]+ | name (ws "(" ws expression ")")? | "(" ws expression ")"
name ::= [a-z_] [a-z0-9_]*
sp ::= [ \n]+
ws ::= [ \n]*
"""
_C_LARK = r"""
start: function+
function: "int" NAME "(" ("int" NAME)? ")" block
block: "{" statement* "}"
statement: "int"? NAME "=" expression ";" | "return" expression ";" | ("if" | "while") test block
test: "(" expression ("==" | "<" | ">") expression ")"
expression: term (("+" | "-" | "*" | "/") term)*
term: NUMBER | NAME ("(" expression ")")? | "(" expression ")"
NAME: /[a-z_][a-z0-9_]*/
NUMBER: /[0-9]+/
%ignore /[ \n]+/
"""
_SQL_GBNF = r"""
root ::= "SELECT " columns " FROM " name join? where? order? limit?
columns ::= "*" | column (", " column)*
column ::= name ("." name)?
join ::= " JOIN " name " ON " column " = " column
where ::= " WHERE " condition ((" AND " | " OR ") condition)*
condition ::= column (" = " | " > " | " < ") (number | text)
order ::= " ORDER BY " column (" ASC" | " DESC")?
limit ::= " LIMIT " [0-9]+
number ::= [0-9]+ ("." [0-9]+)?
text ::= "'" [^'\n]* "'"
name ::= [a-z] [a-z_0-9]*
"""
_SQL_LARK = r"""
start: "SELECT " columns " FROM " NAME join? where? order? limit?
columns: "*" | column (", " column)*
column: NAME ("." NAME)?
join: " JOIN " NAME " ON " column " = " column
where: " WHERE " condition ((" AND " | " OR ") condition)*
condition: column (" = " | " > " | " < ") (NUMBER | TEXT)
order: " ORDER BY " column (" ASC" | " DESC")?
limit: " LIMIT " /[0-9]+/
NUMBER: /[0-9]+(\.[0-9]+)?/
TEXT: /'[^'\n]*'/
NAME: /[a-z][a-z_0-9]*/
"""


def _grammar_cases() -> Iterator[Case]:
    for name, gbnf, lark, texts in (
        ("arithmetic", _ARITHMETIC_GBNF, _ARITHMETIC_LARK, _ARITHMETIC_TEXTS),
        ("JSON", _JSON_GBNF, _JSON_LARK, _JSON_TEXTS),
        ("C-like", _C_GBNF, _C_LARK, _C_TEXTS),
        ("SQL-like", _SQL_GBNF, _SQL_LARK, _SQL_TEXTS),
    ):
        yield Case(f"{name} (GBNF)", "gbnf", gbnf, texts)
        yield Case(f"{name} (Lark)", "lark", lark, texts)
