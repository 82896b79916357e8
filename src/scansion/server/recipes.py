"""What a grammar is made of, as a plain value: sent to a worker process, hashed for the cache, turned into a ``Grammar``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from scansion.errors import GrammarError, LimitError

__all__ = ["MAX_GRAMMAR_BYTES", "TOOL_CLOSE", "TOOL_OPEN", "Recipe", "ToolSchema", "build", "tool_recipe"]

MAX_GRAMMAR_BYTES = 1 << 20
"""Longest schema or grammar of one request."""

TOOL_OPEN = "<tool_call>"
TOOL_CLOSE = "</tool_call>"
_MAX_LENIENT = 16


@dataclass(frozen=True)
class Recipe:
    """How to make a grammar.

    Attributes:
        kind: ``json_object``, ``json_schema``, ``gbnf``, ``lark``, ``regex``, ``choices``, ``structural_tag`` or ``tools``.
        text: schema text, grammar text, pattern, or the JSON text of the other kinds.
        options: pairs of options of ``Grammar.from_json_schema`` (``lenient`` as names joined by commas).
    """

    kind: str
    text: str
    options: tuple[tuple[str, str], ...] = ()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content, in hexadecimal."""
        return hashlib.sha256(repr((self.kind, self.options)).encode() + self.text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class ToolSchema:
    """A tool as the grammar needs it: its name and the schema text of its arguments."""

    name: str
    parameters: str


def tool_recipe(
    tools: Sequence[ToolSchema],
    *,
    required: bool,
    parallel: bool,
    answer: str | None = None,
    options: Sequence[tuple[str, str]] = (),
) -> Recipe:
    """The grammar of an answer with tool calls.

    Args:
        tools: what may be called; with ``required`` at least one call is made and nothing else written.
        parallel: more than one call is allowed.
        answer: schema text of what may be written instead of calls; None: any text that opens no call.
        options: those of ``Grammar.from_json_schema``, for arguments and answer.
    """
    content = {
        "tools": [[tool.name, tool.parameters] for tool in tools],
        "required": required,
        "parallel": parallel,
        "answer": answer,
    }
    return Recipe("tools", json.dumps(content), tuple(options))


def build(recipe: Recipe) -> Any:
    """Make the grammar. Runs in a worker process.

    Returns:
        The ``Grammar``.

    Raises:
        GrammarError, LimitError: with the attribute ``tool`` where a tool's schema is at fault.
    """
    from scansion.grammar import Grammar

    size = len(recipe.text.encode("utf-8", "surrogatepass"))
    if recipe.kind != "tools" and size > MAX_GRAMMAR_BYTES:
        raise LimitError(
            f"the schema or grammar has {size:,} bytes, more than {MAX_GRAMMAR_BYTES:,}", limit="grammar_bytes", allowed=MAX_GRAMMAR_BYTES
        )
    if recipe.kind == "json_object" and not recipe.options:
        from scansion.server.json_mode import JSON_MODE_GBNF

        return Grammar.from_gbnf(JSON_MODE_GBNF)
    if recipe.kind in ("json_schema", "json_object"):
        return Grammar.from_json_schema(recipe.text, **_options(recipe))
    if recipe.kind == "gbnf":
        return Grammar.from_gbnf(recipe.text)
    if recipe.kind == "lark":
        return Grammar.from_lark(recipe.text)
    if recipe.kind == "regex":
        return Grammar.from_regex(recipe.text)
    if recipe.kind == "choices":
        return Grammar.from_choices(json.loads(recipe.text))
    if recipe.kind == "structural_tag":
        return _structural_tags(recipe)
    if recipe.kind == "tools":
        return _tools(recipe)
    raise GrammarError(f"there is no kind of grammar {recipe.kind!r}", construct=recipe.kind)


def _options(recipe: Recipe) -> dict[str, Any]:
    options: dict[str, Any] = dict(recipe.options)
    if "lenient" in options:
        options["lenient"] = options["lenient"].split(",")[:_MAX_LENIENT]
    return options


def _written(kind: str, rules: Any, options: dict[str, Any]) -> Any:
    """A grammar of rules that hold JSON values."""
    from scansion.grammar import Grammar
    from scansion.grammar.lower import simplify, write_rules
    from scansion.json_schema import SchemaOptions, write_schema
    from scansion.program import ProgramBuilder

    schema_options = SchemaOptions(**options)
    builder = ProgramBuilder(schema_options.whitespace, schema_options.spelling == "canonical")

    def write_value(target: Any, value: Any) -> int:
        return write_schema(value.schema, schema_options, target)

    return Grammar(kind, builder.finish(write_rules(builder, simplify(rules), write_value)))


def _structural_tags(recipe: Recipe) -> Any:
    from scansion.grammar.nodes import Rules, Text
    from scansion.languages.gbnf import parse_gbnf
    from scansion.languages.lark import parse_lark
    from scansion.languages.regex import parse_python
    from scansion.languages.structural_tags import StructuralTag, structural_tags

    content = json.loads(recipe.text)

    def inner(kind: str, text: str) -> Any:
        if kind == "gbnf":
            return parse_gbnf(text, root="root", compat="grammar")
        if kind == "lark":
            return parse_lark(text)
        if kind == "regex":
            return Rules("regex", {"regex": Text(parse_python(text))})
        return text

    tags = [StructuralTag(tag["begin"], inner(tag["kind"], tag["content"]), tag["end"]) for tag in content["tags"]]
    rules = structural_tags(
        tags,
        triggers=content["triggers"],
        at_least_one=content["at_least_one"],
        stop_after_first=content["stop_after_first"],
    )
    return _written("structural_tags", rules, _options(recipe))


def _tools(recipe: Recipe) -> Any:
    """Calls as ``<tool_call>\\n{"name": "f", "arguments": {...}}\\n</tool_call>``, one a line."""
    from scansion._kernel import Language
    from scansion.grammar import Grammar
    from scansion.grammar.nodes import JsonValue, Rules, Text, choice, repeat, seq

    content = json.loads(recipe.text)
    options = _options(recipe)
    for name, schema in content["tools"]:
        try:
            Grammar.from_json_schema(schema, **options)
        except (GrammarError, LimitError) as error:
            error.tool = name  # type: ignore[union-attr]
            raise
    if content["answer"] is not None:
        Grammar.from_json_schema(content["answer"], **options)

    def text(word: str) -> Text:
        return Text(Language.literal(word))

    one = seq(
        [
            text(f"{TOOL_OPEN}\n"),
            choice(
                [
                    seq([text(f'{{"name": {json.dumps(name, ensure_ascii=False)}, "arguments": '), JsonValue(schema), text("}")])
                    for name, schema in content["tools"]
                ]
            ),
            text(f"\n{TOOL_CLOSE}"),
        ]
    )
    calls = seq([one, repeat(seq([text("\n"), one]), 0, None)]) if content["parallel"] else one
    if content["required"]:
        start = calls
    elif content["answer"] is not None:
        start = choice([calls, JsonValue(content["answer"])])
    else:
        anything = Language.anything()
        free = Language.concat([anything, Language.literal(TOOL_OPEN), anything]).complement()
        start = seq([Text(free), repeat(calls, 0, 1)])
    return _written("tools", Rules("answer", {"answer": start}), options)
