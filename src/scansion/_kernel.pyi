"""Typed face of the C++ kernel. See docs/architecture.md for the data structures.

Everything here is checked against the extension in ``tests/test_kernel_stub.py``.
"""

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

TEXT: int  # lexeme encoding: the language's words written in UTF-8
JSON_STRING: int  # lexeme encoding: a JSON string literal, quotes included, whose decoded value is in the language

# Node operations (docs/architecture.md, "Program")
RET: int
LEX: int
CALL: int
ALT: int
TOKEN: int
OBJECT: int
ARRAY: int
REPEAT: int
FAIL: int
BUDGET: int

class Language:
    """A regular language over Unicode scalar values (0..0x10FFFF without surrogates).

    Immutable and hash-consed: languages built the same way are the same object id (``==`` is O(1) and means
    "same normal form", not full equivalence: see ``equivalent``). Safe to share between threads. Pickles.
    Queries that must explore states raise ``LimitError`` past ``state_limit`` (default 20,000) states.
    """

    @staticmethod
    def nothing() -> Language: ...  # the empty set
    @staticmethod
    def empty() -> Language: ...  # {""}
    @staticmethod
    def anything() -> Language: ...  # all strings
    @staticmethod
    def char_class(ranges: Sequence[tuple[int, int]]) -> Language: ...  # inclusive code point ranges, any order
    @staticmethod
    def literal(text: str) -> Language: ...
    @staticmethod
    def literals(texts: Sequence[str]) -> Language: ...  # a finite set, kept as a trie: thousands are cheap
    @staticmethod
    def concat(parts: Sequence[Language]) -> Language: ...
    @staticmethod
    def union(parts: Sequence[Language]) -> Language: ...
    @staticmethod
    def intersection(parts: Sequence[Language]) -> Language: ...
    @staticmethod
    def automaton(transitions: Sequence[Sequence[tuple[int, int, int]]], accepting: Sequence[bool], start: int = 0) -> Language:
        """An explicit DFA: ``transitions[s]`` holds disjoint ``(first, last, target)`` code point ranges."""
    def complement(self) -> Language: ...  # relative to all strings
    def repeat(self, low: int, high: int | None = None) -> Language: ...  # counted, never expanded
    def derivative(self, text: str) -> Language: ...
    def transitions(self) -> list[tuple[int, int, Language]]: ...  # inclusive code point ranges, ascending; dead ones left out
    @property
    def id(self) -> int: ...
    @property
    def nullable(self) -> bool: ...  # contains ""
    @property
    def is_nothing(self) -> bool: ...  # exact
    def matches(self, text: str) -> bool: ...
    def is_subset_of(self, other: Language) -> bool: ...
    def is_disjoint_from(self, other: Language) -> bool: ...
    def equivalent(self, other: Language) -> bool: ...
    def shortest(self) -> str | None: ...  # a shortest word, least code points first; None for the empty set
    def count(self, limit: int) -> int: ...  # number of words, at most ``limit``
    def words(self, limit: int) -> list[str] | None: ...  # all words in code point order, None if more than ``limit``
    def min_length(self) -> int | None: ...  # code points; None for the empty set
    def max_length(self) -> int | None: ...  # None where unbounded (or empty)
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __getstate__(self) -> tuple[Any, ...]: ...
    def __setstate__(self, state: tuple[Any, ...]) -> None: ...

class Program:
    """A verified flat program. Built from ``scansion.program.ProgramData.arguments()``; raises ``ValueError``
    where the data is malformed (index out of range, left recursion), naming the entry."""

    def __init__(
        self,
        nodes: Sequence[int],
        targets: Sequence[int],
        rules: Sequence[int],
        lexemes: Sequence[tuple[Language, int]],
        objects: Sequence[tuple[Any, ...]],
        arrays: Sequence[tuple[Any, ...]],
        conditions: Sequence[tuple[int, int, int]],
        token_sets: Sequence[Sequence[tuple[int, int]]],
        punctuation: Sequence[int],
        start: int,
        canonical_keys: bool,
        node_labels: Sequence[int],
    ) -> None: ...

class Vocabulary:
    """Token bytes as one depth-first trie, end tokens and special tokens apart. Immutable, shared by all constraints."""

    def __init__(self, tokens: Sequence[bytes | None], eos_token_ids: Sequence[int], special_token_ids: Sequence[int]) -> None: ...
    @property
    def size(self) -> int: ...
    @property
    def eos_token_ids(self) -> list[int]: ...
    def token_bytes(self, token_id: int) -> bytes | None: ...  # None: special or never text
    def rehearse_string(self, language: Language, text: str) -> None: ...  # what tokens do in a JSON string is looked up along a text
    def tokenize_greedy(self, text: bytes) -> list[int] | None: ...  # longest match; None where a byte has no token

class Constraint:
    """A program over a vocabulary, with the tables that grow as states are met. Shared between threads."""

    def __init__(self, program: Program, vocabulary: Vocabulary) -> None: ...
    @property
    def memory(self) -> dict[str, int]: ...  # counts: states, stacks, masks, bytes

class Matcher:
    """One sequence. Belongs to one thread at a time."""

    @overload
    def __init__(self, constraint: Constraint) -> None: ...
    @overload
    def __init__(self, other: Matcher) -> None: ...  # what ``fork`` does, for subclasses
    def fill_bitmask(self, mask: NDArray[np.int32], row: int = 0) -> None: ...
    def allows(self, token_id: int) -> bool: ...
    def accept(self, token_id: int) -> bool: ...  # False where it is not allowed; one token of every budget that has begun
    def accept_bytes(self, data: bytes) -> bool: ...  # all or nothing; one token for rollback, none for budgets
    def bytes_accepted(self, data: bytes) -> int: ...  # length of the longest viable prefix; state unchanged
    def bytes_replaced(self, text: bytes) -> int | None:
        """Of a text that could follow before the last token: how many of its first bytes (0 to 3) that token stands for.

        Text without them leads on from here to where all of it led from there: seen within the next 4 bytes; None where it is not.
        The matcher does not move."""
    @property
    def is_complete(self) -> bool: ...
    @property
    def is_finished(self) -> bool: ...
    @property
    def token_count(self) -> int: ...
    @property
    def counts_tokens(self) -> bool: ...  # what may follow depends on how the text is cut into tokens: the program has budgets
    def rollback(self, n_tokens: int) -> None: ...
    def fork(self) -> Matcher: ...
    def reset(self) -> None: ...
    def forced_bytes(self, limit: int = 4096) -> bytes: ...  # however they are cut into tokens: up to where a budget could end
    def forced_token(self) -> int | None: ...  # a token terminal that is the only way on
    def only_token(self) -> int | None: ...  # the only token ``fill_bitmask`` would set; None where there are several, or none
    def follow(self, token_ids: Sequence[int], only: bool = False) -> list[bool]:
        """``accept`` one token after the other, up to the first that is not allowed.

        Returns for each token that was accepted whether it was the only one that could be; False for all without ``only``."""
    def outlook(self, limit: int = 4096) -> tuple[bytes, bytes, bool]:
        """``forced_bytes(limit)``, ``next_bytes()`` where nothing is forced (else nothing), and ``is_complete``."""
    def shortest_completion(self, limit: int = 1 << 20) -> bytes | None: ...  # as if no budget ended on the way
    def shortest_cost(self) -> int: ...  # bytes of the shortest completion
    def next_bytes(self) -> bytes: ...  # every byte that may come next, ascending
    def expected(self) -> list[tuple[int, int, int]]: ...  # (node, spec kind, detail) of each live alternative
    @property
    def state_id(self) -> int: ...  # equal ids: same future (within one constraint)

def fill_bitmasks(matchers: Sequence[Matcher | None], mask: NDArray[np.int32]) -> None: ...
def apply_bitmask(logits: NDArray[np.float32], mask: NDArray[np.int32]) -> None:
    """Minus infinity wherever a row of a mask has no bit, in place and without the interpreter's lock; one row, both without gaps."""
