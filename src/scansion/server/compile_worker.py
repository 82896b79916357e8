"""A process that makes grammars of what clients send: limited in memory, killed from outside when it takes too long.

Speaks frames over its standard input and output: eight bytes of length, then a pickle. A request is a tuple whose first
member names the work; an answer is ``("ok", value)`` or ``("error", exception)``. Run by ``compile_pool``.
"""

from __future__ import annotations

import os
import pickle
import resource
import sys
from typing import Any, BinaryIO

from scansion.errors import GrammarError, LimitError, ScansionError, UnsupportedError
from scansion.server.errors import keyword_of

__all__ = ["HEADER", "main"]

HEADER = 8
_MAX_LENIENT = 8
_MAX_CONTENT = 4 << 20


def main() -> None:
    """Serve requests until standard input ends. The one argument is the memory limit in MiB."""
    limit = int(sys.argv[1]) << 20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(5)  # answers in progress come before grammars to come
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not end up between frames
    import scansion.grammar
    import scansion.json_schema  # noqa: F401  (loaded before the first request, not during it)

    _send(sink, ("ok", "ready"))
    while (header := source.read(HEADER)) and len(header) == HEADER:
        request = pickle.loads(source.read(int.from_bytes(header, "little")))
        _send(sink, _answer(request))


def _send(sink: BinaryIO, answer: tuple[str, Any]) -> None:
    data = pickle.dumps(answer, protocol=5)
    sink.write(len(data).to_bytes(HEADER, "little") + data)
    sink.flush()


def _answer(request: tuple[Any, ...]) -> tuple[str, Any]:
    try:
        kind, *arguments = request
        if kind == "build":
            return "ok", _build(*arguments)
        if kind == "write":
            return "ok", _written(*arguments)
        return "ok", _violation(*arguments)
    except ScansionError as error:
        return "error", error
    except MemoryError:
        return "error", LimitError("the schema or grammar needs more memory than is allowed", limit="compile_memory")
    except RecursionError:
        return "error", LimitError("the schema or grammar is nested too deep", limit="grammar_depth")
    except Exception as error:
        return "error", ScansionError(f"the grammar could not be made: {type(error).__name__}: {str(error)[:200]}")


def _build(recipe: Any, relax: bool) -> tuple[bytes, tuple[tuple[str, str], ...]]:
    """The pickled grammar and, with ``relax``, what was left out of it because it cannot be enforced exactly."""
    from scansion.server.recipes import Recipe, build

    relaxed: list[tuple[str, str]] = []
    while True:
        try:
            grammar = build(recipe)
            _probe(grammar)
            return pickle.dumps(grammar, protocol=5), tuple(relaxed)
        except UnsupportedError as error:
            keyword = keyword_of(error)
            if not relax or recipe.kind not in ("json_schema", "json_object", "tools") or keyword is None:
                raise
            lenient = dict(recipe.options).get("lenient", "")
            names = [*lenient.split(","), keyword] if lenient else [keyword]
            if len(names) > _MAX_LENIENT or len(set(names)) < len(names):
                raise
            relaxed.append((keyword, error.pointer or ""))
            options = tuple((name, value) for name, value in recipe.options if name != "lenient")
            recipe = Recipe(recipe.kind, recipe.text, (*options, ("lenient", ",".join(names))))


def _probe(grammar: Any) -> None:
    """Take the first steps here, where they can be killed, not in the server."""
    from scansion.vocabulary import Vocabulary

    if any(True for _ in grammar.program.token_sets):
        return  # its token terminals mean something in the model's vocabulary only
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos_token_ids=[256])
    matcher = grammar.compile(vocabulary).matcher()
    matcher.next_bytes()


def _written(pickled: bytes, language: str) -> tuple[str, bool]:
    """A grammar as text for another engine, and whether the text lets undeclared keys repeat, which only a check can forbid."""
    from scansion.languages.to_gbnf import to_gbnf
    from scansion.languages.to_lark import to_lark

    write = to_gbnf if language == "gbnf" else to_lark
    program = pickle.loads(pickled).program
    try:
        return write(program), False
    except UnsupportedError as error:
        try:
            return write(program, repeated_keys=True), True
        except UnsupportedError:
            raise error from None


def _violation(schema_text: str, content: str, formats: bool) -> str | None:
    """Why a text is no instance of a schema, or None. References are never fetched."""
    import json

    try:
        from jsonschema import Draft202012Validator
        from jsonschema.validators import validator_for
        from referencing.jsonschema import EMPTY_REGISTRY
    except ImportError:
        raise GrammarError("checking answers against a schema needs jsonschema", hint="pip install 'scansion[server]'") from None
    if len(content) > _MAX_CONTENT:
        return f"the answer has more than {_MAX_CONTENT:,} characters"
    try:
        value = json.loads(content)
    except ValueError as error:
        return f"not JSON: {error}"
    schema = json.loads(schema_text)
    kind = validator_for(schema, default=Draft202012Validator)
    validator = kind(schema, registry=EMPTY_REGISTRY, format_checker=kind.FORMAT_CHECKER if formats else None)
    for problem in validator.iter_errors(value):
        return f"at #{''.join(f'/{part}' for part in problem.absolute_path)}: {problem.message[:200]}"
    return None


if __name__ == "__main__":
    main()
