"""A process that works on what clients send: limited in memory, killed from outside when it takes too long.

The process that is started (by ``nursery``) loads everything and works on nothing: it forks the workers. A worker speaks
frames over its socket: eight bytes of length, then a pickle. A request is a tuple whose first member names the work; an
answer is ``("ok", value)`` or ``("error", exception)``.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import resource
import signal
import socket
import sys
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO

from scansion.errors import GrammarError, LimitError, ScansionError, UnsupportedError
from scansion.server.byte_vocabulary import byte_vocabulary
from scansion.server.errors import ApiError, keyword_of
from scansion.server.nursery import KILL, MESSAGE, START
from scansion.server.recipes import Recipe, build
from scansion.server.text_check import taken

if TYPE_CHECKING:
    from scansion.matching import Matcher

__all__ = ["HEADER", "main"]

HEADER = 8
_NICENESS = 10
"""Answers in progress come before grammars to come."""
_FIRST = '{"properties": {"a": {"type": "string", "pattern": "^[a-z]+$"}, "b": {"type": "integer", "minimum": 1}}}'
"""Compiled before anything else, so that no request pays for what is loaded at the first time."""
_MAX_LENIENT = 8
_MAX_CONTENT = 4 << 20
_KEPT_CHECKS = 8

_checks: OrderedDict[str, tuple[Matcher, bytes]] = OrderedDict()
"""Matchers of ``_checked`` and the texts they have read, by digest of the grammar; the oldest go first."""


def main() -> None:
    """Fork workers and end them, as told, until the server is gone. Arguments: the control socket, and the memory limit in MiB."""
    control = socket.socket(fileno=int(sys.argv[1]))
    memory = int(sys.argv[2]) << 20
    os.nice(_NICENESS)
    # Loaded once, for all workers, what a first compilation loads included.
    import scansion.grammar
    import scansion.json_schema
    import scansion.server.ollama_requests
    import scansion.server.openai_requests  # noqa: F401

    _build(Recipe("json_schema", _FIRST), relax=False)
    gc.collect()
    gc.freeze()
    children: dict[int, int] = {}
    ending: list[int] = []
    while True:
        message, sockets, _, _ = socket.recv_fds(control, MESSAGE, 1)
        if len(message) < MESSAGE:
            break
        number = int.from_bytes(message[1:], "little")
        if message[:1] == START and sockets:
            child = os.fork()
            if child == 0:
                control.close()
                _serve(socket.socket(fileno=sockets[0]), memory)
                os._exit(0)
            children[number] = child
            os.close(sockets[0])
        elif message[:1] == KILL:
            child = children.pop(number, 0)
            if child:
                os.kill(child, signal.SIGKILL)  # its id is its own until it is waited for, which nobody does but this process
                ending.append(child)
        ending = [child for child in ending if os.waitpid(child, os.WNOHANG) == (0, 0)]
    for child in children.values():
        os.kill(child, signal.SIGKILL)


def _serve(connection: socket.socket, memory: int) -> None:
    """A worker's life, until its connection ends."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    source, sink = connection.makefile("rb"), connection.makefile("wb")
    with contextlib.suppress(OSError):
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
        return "ok", _WORK[kind](*arguments)
    except (ScansionError, ApiError) as error:
        return "error", error
    except MemoryError:
        return "error", LimitError("the schema or grammar needs more memory than is allowed", limit="compile_memory")
    except RecursionError:
        return "error", LimitError("the schema or grammar is nested too deep", limit="grammar_depth")
    except Exception as error:
        return "error", ScansionError(f"the grammar could not be made: {type(error).__name__}: {str(error)[:200]}")


def _read(read: Callable[[bytes], Any], body: bytes) -> Any:
    """A request's body as one of the functions that read requests understands it."""
    return read(body)


def _build(recipe: Recipe, relax: bool) -> tuple[bytes, tuple[tuple[str, str], ...], float]:
    """The pickled grammar; with ``relax``, what was left out of it because it cannot be enforced exactly; and the seconds that
    loading it takes."""
    relaxed: list[tuple[str, str]] = []
    while True:
        try:
            grammar = build(recipe)
            started = time.process_time()
            _probe(grammar)
            return pickle.dumps(grammar, protocol=5), tuple(relaxed), time.process_time() - started
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
    if any(True for _ in grammar.program.token_sets):
        return  # its token terminals mean something in the model's vocabulary only
    grammar.compile(byte_vocabulary()).matcher().next_bytes()


def _checked(digest: str, pickled: bytes | None, text: bytes) -> tuple[int, bool] | None:
    """How many bytes of a text a grammar takes and whether it is then whole; None where the grammar must be sent along."""
    matcher, read = _checks.pop(digest, (None, b""))
    if matcher is None:
        if pickled is None:
            return None
        matcher = pickle.loads(pickled).compile(byte_vocabulary()).matcher()
    if not text.startswith(read):
        matcher.reset()
        read = b""
    new, whole = taken(matcher, text[len(read) :])
    accepted = len(read) + new
    _checks[digest] = matcher, text if accepted == len(text) else read
    while len(_checks) > _KEPT_CHECKS:
        _checks.popitem(last=False)
    return accepted, whole


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


_WORK: dict[str, Callable[..., Any]] = {
    "read": _read,
    "build": _build,
    "write": _written,
    "check": _checked,
    "violation": _violation,
}

if __name__ == "__main__":
    main()
