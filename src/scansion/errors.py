"""Every error Scansion raises on purpose, in one tree.

    ScansionError
    ├── GrammarError            the grammar or schema given is wrong          (also a ValueError)
    │   ├── UnsupportedError    right, but a construct cannot be enforced exactly
    │   └── UnsatisfiableError  right, but nothing satisfies it
    ├── LimitError              a stated bound on size, depth, width, time or memory was met
    ├── VocabularyError         a tokenizer or its token list cannot be used  (also a ValueError)
    ├── ModelError              a model file is missing, broken or not usable
    │   └── ContextError        the prompt and the answer do not fit the model's context
    ├── RequestError            what a caller asked of generation is contradictory or out of range (also a ValueError)
    └── DeadEndError            a constraint left no token to go on with: a fault to report

Messages are one sentence saying what is wrong and where, and, where there is one, a way out. Where a position is
known it is also an attribute, so that a program need not read the sentence.
"""

from __future__ import annotations

__all__ = [
    "ContextError",
    "DeadEndError",
    "GrammarError",
    "LimitError",
    "ModelError",
    "RequestError",
    "ScansionError",
    "UnsatisfiableError",
    "UnsupportedError",
    "VocabularyError",
]


class ScansionError(Exception):
    """Base of all errors raised on purpose."""


class GrammarError(ScansionError, ValueError):
    """A grammar or schema that cannot be used.

    Attributes:
        pointer: JSON pointer into the schema (``/properties/a/minimum``; ``""`` is the whole schema), or None.
        construct: name of the keyword or construct at fault (``minimum``, ``repetition``), or None.
        hint: what to do about it, or None.
        line, column: position in a grammar text, counted from 1, or None. A schema inside a grammar has a pointer as well.
        offset: position in a grammar text or pattern, in code points counted from 0, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        pointer: str | None = None,
        construct: str | None = None,
        hint: str | None = None,
        line: int | None = None,
        column: int | None = None,
        offset: int | None = None,
    ) -> None:
        self.message = message
        self.pointer = pointer
        self.construct = construct
        self.hint = hint
        self.line = line
        self.column = column
        self.offset = offset
        super().__init__(str(self))

    def __str__(self) -> str:
        where = ""
        if self.line is not None:
            where = f"line {self.line}, column {self.column}: "
        elif self.offset is not None and self.pointer is None:
            where = f"at offset {self.offset}: "
        if self.pointer is not None:
            where += f"#{self.pointer}: "
        return f"{where}{self.message}" + (f" ({self.hint})" if self.hint else "")

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.__dict__.copy()))


def _rebuild(kind: type[GrammarError], state: dict[str, object]) -> GrammarError:
    error = kind.__new__(kind)
    error.__dict__.update(state)
    Exception.__init__(error, str(error))
    return error


class UnsupportedError(GrammarError):
    """The construct is legal but cannot be enforced exactly here. Always raised rather than dropping a constraint."""


class UnsatisfiableError(GrammarError):
    """No text (or no JSON instance) satisfies the grammar or schema."""


class LimitError(ScansionError):
    """A documented bound was met.

    Attributes:
        limit: name of the bound (``schema_depth``, ``language_states``, ``width`` ...), or None.
        allowed: its value, or None.
    """

    def __init__(self, message: str, *, limit: str | None = None, allowed: int | None = None) -> None:
        super().__init__(message)
        self.limit = limit
        self.allowed = allowed


class VocabularyError(ScansionError, ValueError):
    """A token list, tokenizer or tokenizer file that cannot be turned into a vocabulary."""


class ModelError(ScansionError):
    """A model file that is missing, broken, or cannot do what was asked."""


class ContextError(ModelError):
    """Prompt and answer together are longer than the model's context."""


class RequestError(ScansionError, ValueError):
    """Options of a generation that contradict each other or are out of range."""


class DeadEndError(ScansionError):
    """A constraint left no token at all: a fault in Scansion or in a custom constraint, never in a grammar.

    Grammars are checked to be satisfiable before the first token, and a state that no token can leave is refused where
    it would be entered."""
