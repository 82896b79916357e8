"""JSON Schema to program: the front end as one function."""

from __future__ import annotations

from typing import Any

from scansion.json_schema.documents import Documents, ScopeNeeded
from scansion.json_schema.lower import Lowering
from scansion.json_schema.normal_form import Normaliser
from scansion.json_schema.options import SchemaOptions
from scansion.json_schema.source import parse_schema, refuse_foreign_values
from scansion.json_schema.violation import SchemaSource
from scansion.program import ProgramBuilder, ProgramData

__all__ = ["compile_schema", "write_schema"]


def compile_schema(schema: Any, options: SchemaOptions) -> tuple[ProgramData, list[tuple[str, str]]]:
    """A schema (text, parsed, or a Python type) as a program.

    Returns:
        The program, and what the lenient option left out: (keyword, pointer) pairs.

    Raises:
        GrammarError: not a schema; ``UnsupportedError`` and ``UnsatisfiableError`` likewise, each with the pointer.
        LimitError: a documented bound was met.
    """
    value = parse_schema(schema)
    builder = ProgramBuilder(options.whitespace, options.spelling == "canonical")
    try:
        root, dropped = _write(value, options, builder, scoped=False)
    except ScopeNeeded:
        builder = ProgramBuilder(options.whitespace, options.spelling == "canonical")
        root, dropped = _write(value, options, builder, scoped=True)
    program = builder.finish(builder.json_root(root))
    program.source = SchemaSource(value, options)
    return program, dropped


def write_schema(schema: Any, options: SchemaOptions, builder: ProgramBuilder) -> int:
    """Write a schema into a program under construction; the rule of its value (no white space around it).

    White space and the spelling of keys are the builder's; the other options hold.
    """
    value = parse_schema(schema)
    try:
        return _write(value, options, builder, scoped=False)[0]
    except ScopeNeeded:
        # What was written so far stays behind, unreachable.
        return _write(value, options, builder, scoped=True)[0]


def _write(value: Any, options: SchemaOptions, builder: ProgramBuilder, scoped: bool) -> tuple[int, list[tuple[str, str]]]:
    documents = Documents(value, options.resources, scoped, options.lenient)
    norm = Normaliser(documents, options)
    lowering = Lowering(builder, norm)
    try:
        root = lowering.run(norm.expr_of(documents.root))
        documents.close()
        return root, documents.dropped
    except (TypeError, AttributeError, ArithmeticError):
        # Looking through every schema beforehand would cost a tenth of the time it takes to compile one.
        for document in (value, *(options.resources or {}).values()):
            refuse_foreign_values(document)
        raise
