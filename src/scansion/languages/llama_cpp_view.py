"""A grammar over symbols (``llama_cpp_symbols``) joined to a vocabulary: tokens written as symbols, and bytes in and out.

As llama.cpp does, special tokens are taken for the text they are named by, a token's text ends at a zero byte, and a token
terminal never matches an end token or a token whose first character is not whole.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from scansion.grammar.token_sets import bind_tokens, needs_binding
from scansion.languages.llama_cpp_symbols import BEGIN, CUT, CUT_ALLOWED, CUT_LATE, CUT_LATE_ALLOWED
from scansion.matching import Constraint, Matcher, one_by_one
from scansion.program import ProgramData
from scansion.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LlamaCppConstraint", "LlamaCppMatcher", "llama_cpp_constraint", "symbols"]

_CUT = chr(CUT).encode()
_CUT_LATE = chr(CUT_LATE).encode()
_ALLOWED = {_CUT: chr(CUT_ALLOWED).encode(), _CUT_LATE: chr(CUT_LATE_ALLOWED).encode()}
_BEGIN = chr(BEGIN).encode()
_SYMBOLS = [chr(byte).encode() for byte in range(256)]
_MOST_REPLACED, _SOON_TOGETHER = 4, 4  # as in kernel/matcher.h


def llama_cpp_constraint(program: ProgramData, vocabulary: Vocabulary) -> LlamaCppConstraint:
    """The constraint of a program over symbols."""
    begins = any(ranges and tuple(ranges[0]) == (-1, -1) for ranges in program.token_sets)
    view = _view(vocabulary, begins)
    if needs_binding(program) or program.token_sets:
        program = bind_tokens(program, vocabulary, never=_no_terminal(vocabulary))
    return LlamaCppConstraint(program, view, vocabulary, begins)


def symbols(text: bytes, begins: bool) -> bytes:
    """A token's bytes as symbols, in UTF-8."""
    text = text.partition(b"\0")[0]
    written = b"".join(map(_SYMBOLS.__getitem__, text))
    return (_BEGIN if begins else b"") + written + _cut(text)


def _cut(text: bytes) -> bytes:
    """The mark of a token that may end inside a character: its bytes do, or all of them may continue one begun before."""
    rest = text.lstrip(bytes(range(0x80, 0xC0)))
    late = len(rest) < len(text)
    left = 0
    for byte in rest:
        late |= not left and byte < 0xC0
        left = left - 1 if left else _bytes_to_come(byte)
        late |= not left
    if left == 0 and rest:
        return b""
    return _CUT_LATE if late and rest else _CUT


def _bytes_to_come(lead: int) -> int:
    return 0 if lead < 0xC0 else 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3


def _texts(vocabulary: Vocabulary) -> list[bytes | None]:
    """The text llama.cpp has for each token, special ones with their names."""
    texts = vocabulary.tokens
    for name, token_id in vocabulary.special_tokens.items():
        texts[token_id] = name.encode()
    return texts


@lru_cache(maxsize=8)
def _view(vocabulary: Vocabulary, begins: bool) -> Vocabulary:
    ends = set(vocabulary.eos_token_ids)
    tokens = [
        None if text is None or token_id in ends or not text.partition(b"\0")[0] else symbols(text, begins)
        for token_id, text in enumerate(_texts(vocabulary))
    ]
    return Vocabulary(tokens, sorted(ends), name=f"{vocabulary.name}, as llama.cpp reads it")


@lru_cache(maxsize=8)
def _no_terminal(vocabulary: Vocabulary) -> tuple[int, ...]:
    """Ids that no token terminal matches: end tokens, tokens without text, and those whose first character is not whole."""
    ends = set(vocabulary.eos_token_ids)
    texts = enumerate(_texts(vocabulary))
    return tuple(token_id for token_id, text in texts if token_id in ends or not text or not _begins_whole(text.partition(b"\0")[0]))


def _begins_whole(text: bytes) -> bool:
    return bool(text) and not 0x80 <= text[0] < 0xC0 and len(text) > _bytes_to_come(text[0])


class LlamaCppConstraint(Constraint):
    """A constraint over symbols; ``vocabulary`` is the view of the tokens, ``tokens`` the vocabulary as it is."""

    def __init__(self, program: ProgramData, view: Vocabulary, tokens: Vocabulary, begins: bool) -> None:
        super().__init__(program, view)
        self.tokens = tokens
        self.begins = begins

    def matcher(self) -> LlamaCppMatcher:
        return LlamaCppMatcher(self)

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.program, self.vocabulary, self.tokens, self.begins))


class LlamaCppMatcher(Matcher):
    """A matcher that takes and gives bytes where the kernel's has symbols. Bytes given together count as one token."""

    constraint: LlamaCppConstraint

    def fork(self) -> LlamaCppMatcher:
        copy = super().fork()
        copy.__class__ = LlamaCppMatcher
        assert isinstance(copy, LlamaCppMatcher)
        return copy

    def accept(self, token_id: int) -> bool:
        text = self.constraint.vocabulary.token_bytes(token_id) if 0 <= token_id < self.constraint.vocabulary.size else None
        allowed = None if text is None else _once_allowed(text)
        if allowed is None:
            return super().accept(token_id)
        return self.allows(token_id) and super().accept_bytes(allowed)

    def accept_bytes(self, data: bytes) -> bool:
        if not data:
            return True
        written = symbols(data, self.constraint.begins)
        allowed = _once_allowed(written)
        if allowed is None:
            return super().accept_bytes(written)
        if not super().accept_bytes(written):
            return False
        self.rollback(1)
        return super().accept_bytes(allowed)

    def bytes_accepted(self, data: bytes) -> int:
        begin = _BEGIN if self.constraint.begins else b""
        good = super().bytes_accepted(begin + b"".join(map(_SYMBOLS.__getitem__, data))) - len(begin)
        taken = 0
        for byte in data:
            good -= len(_SYMBOLS[byte])
            if good < 0:
                break
            taken += 1
        return taken

    def bytes_replaced(self, text: bytes) -> int | None:
        """The kernel's answer, found with forks: the text is bytes, and bytes given together are one token."""
        if not self.token_count:
            return None
        behind = self.fork()
        behind.rollback(1)
        for done in range(min(len(text), _MOST_REPLACED)):
            soon = text[done : done + _SOON_TOGETHER]
            ahead, together = self.fork(), behind.fork()
            if ahead.accept_bytes(soon) and together.accept_bytes(soon) and together.state_id == ahead.state_id:
                return done
            behind.accept_bytes(text[done : done + 1])
        return None

    def forced_bytes(self, limit: int = 4096) -> bytes:
        return _bytes(super().forced_bytes(limit), stop=True)

    def follow(self, token_ids: Sequence[int], only: bool = False) -> list[bool]:
        return one_by_one.follow(self, token_ids, only)

    def outlook(self, limit: int = 4096) -> tuple[bytes, bytes, bool]:
        return one_by_one.outlook(self, limit)

    def shortest_completion(self, limit: int = 1 << 20) -> bytes | None:
        found = super().shortest_completion(limit)
        return None if found is None else _bytes(found, stop=False)

    def next_bytes(self) -> bytes:
        return bytes(byte for byte in range(1, 256) if self.bytes_accepted(bytes((byte,))))

    def forced_tokens(self, tokenize: object = None, *, emitted: Sequence[int] = (), limit: int = 4096) -> list[int]:
        """Nothing is certain: llama.cpp takes any spelling of a character's bytes."""
        return []


def _once_allowed(written: bytes) -> bytes | None:
    """A token that ends in a cut, with the mark of one that was allowed; None for other tokens."""
    mark = _ALLOWED.get(written[-2:])
    return None if mark is None else written[:-2] + mark


def _bytes(written: bytes, *, stop: bool) -> bytes:
    """Symbols as bytes; marks are left out, or end the result."""
    out = bytearray()
    for symbol in written.decode(errors="ignore"):
        if ord(symbol) < 256:
            out.append(ord(symbol))
        elif stop:
            break
    return bytes(out)
