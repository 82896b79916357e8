"""Why a JSON value is not an instance: the schema evaluated keyword by keyword, as a validator does.

The recogniser says where a text leaves a schema, not why: there all keywords have become one automaton. This says why, in the words of
the schema's author, and is only ever run to explain a refusal. It reads the same documents and languages as the front end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from scansion.errors import LimitError
from scansion.json_schema import scalar_keywords
from scansion.json_schema.documents import Documents, Site, escape
from scansion.json_schema.json_values import canonical, exact, kind_of
from scansion.json_schema.keywords import KEYWORDS, TYPES
from scansion.json_schema.options import SchemaOptions
from scansion.json_schema.words import PHRASES, shown, shown_names

__all__ = ["MAX_EVALUATIONS", "Evaluator", "Finding", "Path"]

MAX_EVALUATIONS = 200_000  # pairs of a subschema and a value looked at for one explanation

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Finding:
    """One keyword that one value does not satisfy.

    Attributes:
        path: where the value is: keys and indices from the root.
        keyword: the keyword; ``pointer``: where it is in the schema.
        requirement: what it asks, beginning with a verb (``must be at most 100``).
        branches: for ``anyOf`` and ``oneOf``: what each branch finds wrong.
    """

    path: Path
    keyword: str
    pointer: str
    requirement: str
    branches: tuple[tuple[Finding, ...], ...] = ()


@dataclass
class _Result:
    """What one subschema finds wrong with one value, and which keys and items it has evaluated."""

    findings: list[Finding] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    items: set[int] = field(default_factory=set)

    def evaluated(self, other: _Result) -> None:
        self.keys |= other.keys
        self.items |= other.items


class Evaluator:
    """Evaluates values against one schema.

    Args:
        schema: the schema as parsed JSON.
        options: as it was compiled with.
    """

    def __init__(self, schema: Any, options: SchemaOptions) -> None:
        self._documents = Documents(schema, options.resources, True, options.lenient)
        self._formats = options.formats != "annotate"
        self._memo: dict[tuple[int, Path], _Result] = {}

    def findings(self, value: Any) -> list[Finding]:
        """Everything that is wrong with a value; nothing where it is an instance.

        Raises:
            LimitError: more than ``MAX_EVALUATIONS`` subschemas and values to look at.
        """
        self._memo.clear()
        return self._evaluate(self._documents.root, value, ()).findings

    def _evaluate(self, site: Site, value: Any, path: Path) -> _Result:
        key = (site.index, path)
        known = self._memo.get(key)
        if known is not None:
            return known
        if len(self._memo) >= MAX_EVALUATIONS:
            raise LimitError("the explanation needs too many evaluations", limit="evaluations", allowed=MAX_EVALUATIONS)
        result = self._memo[key] = _Result()
        if site.schema is False:
            result.findings.append(Finding(path, "false", site.pointer, "must not be there"))
        elif site.schema is not True:
            _Evaluation(self, site, value, path, result).run()
        return result

    def below(self, site: Site, schema: Any, suffix: str, value: Any, path: Path) -> _Result:
        """What a subschema of ``site`` finds."""
        found = self._documents.site(schema, f"{site.pointer}{suffix}", site.resource, site.scope, site.depth + 1)
        return self._evaluate(found, value, path)

    def target(self, site: Site, keyword: str, value: Any, path: Path) -> _Result:
        """What the schema a reference keyword points at finds."""
        return self._evaluate(self._documents.target(site, keyword), value, path)

    def matches(self, site: Site, text: str, pattern: str, keyword: str) -> bool:
        """Whether a pattern of the schema matches somewhere in a text."""
        return scalar_keywords.pattern(site, pattern, keyword).matches(text)

    def has_format(self, site: Site, text: str, name: str) -> bool:
        """Whether a text has a format; true where formats do not bind."""
        language = scalar_keywords.format_of(site, name) if self._formats else None
        return language is None or language.matches(text)


class _Evaluation:
    """One subschema against one value."""

    def __init__(self, evaluator: Evaluator, site: Site, value: Any, path: Path, result: _Result) -> None:
        self.evaluator = evaluator
        self.site = site
        self.schema: dict[str, Any] = site.schema
        self.value = value
        self.path = path
        self.result = result

    def run(self) -> None:
        schema = self.schema
        if site_is_reference(self.site):
            self._apply("$ref", self.evaluator.target(self.site, "$ref", self.value, self.path))
            return
        if "type" in schema:
            self._type(schema["type"])
        if "enum" in schema and canonical(self.value) not in map(canonical, schema["enum"]):
            self._find("enum")
        if "const" in schema and canonical(self.value) != canonical(schema["const"]):
            self._find("const")
        if isinstance(self.value, str):
            self._string(self.value)
        elif isinstance(self.value, dict):
            self._object(self.value)
        elif isinstance(self.value, list):
            self._array(self.value)
        elif not isinstance(self.value, bool) and self.value is not None:
            self._number(self.value)
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if keyword in schema:
                self._apply(keyword, self.evaluator.target(self.site, keyword, self.value, self.path))
        self._applicators()
        if isinstance(self.value, dict) and "unevaluatedProperties" in schema:
            self._rest(schema["unevaluatedProperties"], "unevaluatedProperties", [n for n in self.value if n not in self.result.keys])
        if isinstance(self.value, list) and "unevaluatedItems" in schema:
            left = [i for i in range(len(self.value)) if i not in self.result.items]
            self._rest(schema["unevaluatedItems"], "unevaluatedItems", left)

    # What is found

    def _find(self, keyword: str, requirement: str | None = None, path: Path | None = None, suffix: str = "") -> None:
        words = requirement if requirement is not None else f"must {PHRASES[keyword](self.schema[keyword])}"
        self.result.findings.append(Finding(self.path if path is None else path, keyword, f"{self.site.pointer}/{keyword}{suffix}", words))

    def _below(self, keyword: str, schema: Any, suffix: str = "", name: str | int | None = None) -> _Result:
        """A subschema on this value, or on the member ``name`` of it."""
        where = f"/{keyword}{suffix}"
        if name is None:
            return self.evaluator.below(self.site, schema, where, self.value, self.path)
        return self.evaluator.below(self.site, schema, where, self.value[name], (*self.path, name))

    def _apply(self, keyword: str, result: _Result) -> None:
        """A subschema that must hold for this value; what it has evaluated is."""
        self.result.findings += result.findings
        if not result.findings:
            self.result.evaluated(result)

    # Keywords by type

    def _type(self, wanted: Any) -> None:
        names = [wanted] if isinstance(wanted, str) else [name for name in wanted if name in TYPES]
        if not any(_has_type(self.value, name) for name in names):
            self._find("type", f"must be {_either(TYPE_WORDS[name] for name in names)}, not {_kind(self.value, names)}")

    def _number(self, value: Any) -> None:
        schema, number = self.schema, exact(value)
        for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"):
            bound = schema.get(keyword)
            if bound is None or isinstance(bound, bool):
                continue
            limit = exact(bound)
            strict = schema.get(f"exclusive{keyword.capitalize()}") is True  # draft 4
            if keyword == "multipleOf":
                wrong = number % limit != 0
            elif keyword.lower().endswith("minimum"):
                wrong = number < limit or (number == limit and (strict or keyword == "exclusiveMinimum"))
            else:
                wrong = number > limit or (number == limit and (strict or keyword == "exclusiveMaximum"))
            if wrong:
                self._find(keyword, f"must be {'above' if 'min' in keyword else 'below'} {shown(bound)}" if strict else None)

    def _string(self, value: str) -> None:
        schema = self.schema
        if "minLength" in schema and len(value) < schema["minLength"]:
            self._find("minLength")
        if "maxLength" in schema and len(value) > schema["maxLength"]:
            self._find("maxLength")
        if "pattern" in schema and not self.evaluator.matches(self.site, value, schema["pattern"], "pattern"):
            self._find("pattern")
        if "format" in schema and not self.evaluator.has_format(self.site, value, schema["format"]):
            self._find("format")

    def _object(self, value: dict[str, Any]) -> None:
        schema = self.schema
        for name in schema.get("required", ()):
            if name not in value:
                self._find("required", f"must have the key {shown(name)}")
        if "minProperties" in schema and len(value) < schema["minProperties"]:
            self._find("minProperties")
        if "maxProperties" in schema and len(value) > schema["maxProperties"]:
            self._find("maxProperties")
        for keyword in ("dependentRequired", "dependencies"):
            for name, others in schema.get(keyword, {}).items():
                if name in value and not isinstance(others, (dict, bool)):
                    for other in [others] if isinstance(others, str) else others:
                        if other not in value:
                            requirement = f"must have the key {shown(other)}, as it has {shown(name)}"
                            self._find(keyword, requirement, suffix=f"/{escape(name)}")
        self._members(value)

    def _members(self, value: dict[str, Any]) -> None:
        schema, site = self.schema, self.site
        properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        others = []
        for name in value:
            matched = [pattern for pattern in patterns if self.evaluator.matches(site, name, pattern, "patternProperties")]
            if name in properties:
                self._member("properties", properties[name], f"/{escape(name)}", name)
            for pattern in matched:
                self._member("patternProperties", patterns[pattern], f"/{escape(pattern)}", name)
            if name not in properties and not matched:
                others.append(name)
        if "additionalProperties" in schema:
            known = list(properties) if not patterns else []
            self._rest(schema["additionalProperties"], "additionalProperties", others, known)
        if "propertyNames" in schema:
            for name in value:
                where = (*self.path, name)
                for found in self.evaluator.below(site, schema["propertyNames"], "/propertyNames", name, (*where, "")).findings:
                    requirement = f"has a name that {found.requirement}"
                    self.result.findings.append(Finding(where, found.keyword, found.pointer, requirement))

    def _member(self, keyword: str, schema: Any, suffix: str, name: str | int) -> None:
        self.result.findings += self._below(keyword, schema, suffix, name).findings
        if isinstance(name, str):
            self.result.keys.add(name)
        else:
            self.result.items.add(name)

    def _rest(self, schema: Any, keyword: str, names: Iterable[str | int], known: Iterable[str] = ()) -> None:
        """Members that nothing before has looked at: ``additional*``, ``unevaluated*``, the items behind a prefix."""
        for name in names:
            if schema is False:
                kind = "key" if isinstance(name, str) else "item"
                but = f" (the keys are {shown_names(known)})" if known else ""
                self._find(keyword, f"must not be there: no other {kind} is allowed{but}", (*self.path, name))
            else:
                self._member(keyword, schema, "", name)

    def _array(self, value: list[Any]) -> None:
        schema = self.schema
        if "minItems" in schema and len(value) < schema["minItems"]:
            self._find("minItems")
        if "maxItems" in schema and len(value) > schema["maxItems"]:
            self._find("maxItems")
        if schema.get("uniqueItems") is True:
            seen: dict[Any, int] = {}
            for index, item in enumerate(value):
                first = seen.setdefault(canonical(item), index)
                if first != index:
                    self._find("uniqueItems", f"must differ from item {first}", (*self.path, index))
        prefix, rest = "prefixItems", "items"
        if isinstance(schema.get("items"), list):
            prefix, rest = "items", "additionalItems"
        leading = schema.get(prefix, [])
        for index, item in enumerate(leading[: len(value)]):
            self._member(prefix, item, f"/{index}", index)
        if rest in schema:
            self._rest(schema[rest], rest, range(len(leading), len(value)))
        if "contains" in schema:
            self._contains(value)

    def _contains(self, value: list[Any]) -> None:
        schema = self.schema
        held = [i for i in range(len(value)) if not self._below("contains", schema["contains"], "", i).findings]
        low, high = schema.get("minContains", 1), schema.get("maxContains")
        wanted = _such(schema["contains"])
        if len(held) < low:
            keyword = "minContains" if "minContains" in schema else "contains"
            self._find(keyword, f"must contain at least {low} {'item' if low == 1 else 'items'} {wanted}, and has {len(held)}")
        elif high is not None and len(held) > high:
            self._find("maxContains", f"must contain at most {high} {'item' if high == 1 else 'items'} {wanted}, and has {len(held)}")
        if self.site.resource.draft >= 2020:
            self.result.items |= set(held)

    # Applicators

    def _applicators(self) -> None:
        schema = self.schema
        for index, part in enumerate(schema.get("allOf", ())):
            self._apply("allOf", self._below("allOf", part, f"/{index}"))
        if "anyOf" in schema:
            self._branches("anyOf")
        if "oneOf" in schema:
            self._branches("oneOf")
        if "not" in schema and not self._below("not", schema["not"]).findings:
            self._find("not", _not_such(schema["not"]))
        if "if" in schema:
            condition = self._below("if", schema["if"])
            if not condition.findings:
                self.result.evaluated(condition)
            keyword = "else" if condition.findings else "then"
            if keyword in schema:
                self._apply(keyword, self._below(keyword, schema[keyword]))
        if isinstance(self.value, dict):
            for keyword in ("dependentSchemas", "dependencies"):
                for name, part in schema.get(keyword, {}).items():
                    if name in self.value and isinstance(part, (dict, bool)):
                        self._apply(keyword, self._below(keyword, part, f"/{escape(name)}"))

    def _branches(self, keyword: str) -> None:
        parts = self.schema[keyword]
        results = [self._below(keyword, part, f"/{index}") for index, part in enumerate(parts)]
        held = [index for index, result in enumerate(results) if not result.findings]
        for index in held:
            self.result.evaluated(results[index])
        if not held:
            which = "the one schema" if len(parts) == 1 else f"one of the {len(parts)} schemas"
            found = tuple(tuple(result.findings) for result in results)
            pointer = f"{self.site.pointer}/{keyword}"
            self.result.findings.append(Finding(self.path, keyword, pointer, f"must satisfy {which} of {keyword}", found))
        elif keyword == "oneOf" and len(held) > 1:
            which = " and ".join(str(index) for index in held[:4])
            self._find("oneOf", f"must satisfy exactly one schema of oneOf, and satisfies those numbered {which}")


TYPE_WORDS = {
    "null": "null",
    "boolean": "a boolean",
    "number": "a number",
    "integer": "an integer",
    "string": "a string",
    "object": "an object",
    "array": "an array",
}


def site_is_reference(site: Site) -> bool:
    """The drafts in which a reference makes everything beside it void."""
    return site.resource.ref_alone and "$ref" in site.schema


def _asked(schema: Any) -> list[str] | None:
    """What a subschema asks, as phrases behind "must"; None where it has keywords that no phrase says."""
    if not isinstance(schema, dict):
        return None
    asked: list[str] = []
    for keyword, value in schema.items():
        if keyword == "type" and isinstance(value, str) and value in TYPE_WORDS:
            asked.insert(0, f"be {TYPE_WORDS[value]}")
        elif keyword == "required" and isinstance(value, list) and value:
            asked.append(f"have the {'key' if len(value) == 1 else 'keys'} {shown_names(value)}")
        elif keyword in PHRASES:
            asked.append(PHRASES[keyword](value))
        elif keyword in KEYWORDS:
            return None
    return asked or None


def _such(schema: Any) -> str:
    """Items of a subschema: "that must be a string"."""
    asked = _asked(schema)
    return f"that must {' and '.join(asked)}" if asked else "of any kind" if schema is True or schema == {} else f"as {shown(schema)} says"


def _not_such(schema: Any) -> str:
    asked = _asked(schema)
    if asked is None:
        return f"must not satisfy {shown(schema)}"
    return f"must not {asked[0]}" if len(asked) == 1 else f"must not at once {' and '.join(asked)}"


def _either(names: Iterable[str]) -> str:
    listed = list(names)
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} or {listed[-1]}"


def _has_type(value: Any, name: str) -> bool:
    if name == "integer":
        return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool) and exact(value).denominator == 1
    if name == "number":
        return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
    kinds: dict[str, Any] = {"null": type(None), "boolean": bool, "string": str, "object": dict, "array": list}
    return isinstance(value, kinds[name])


def _kind(value: Any, names: list[str]) -> str:
    if isinstance(value, bool):
        return json.dumps(value)
    if "integer" in names and isinstance(value, (float, Decimal)):
        return shown(value)
    return "an array" if isinstance(value, list) else kind_of(value)
