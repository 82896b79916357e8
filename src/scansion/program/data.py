"""The finished flat program: a plain value between Python and the kernel."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from scansion._kernel import Language, Program

if TYPE_CHECKING:
    from scansion.json_schema.violation import SchemaSource

__all__ = ["ProgramData"]

_FIELDS = (
    "nodes",
    "targets",
    "rules",
    "lexemes",
    "objects",
    "arrays",
    "conditions",
    "token_sets",
    "punctuation",
    "start",
    "canonical_keys",
    "node_labels",
)


class ProgramData:
    """A program as flat lists (``docs/architecture.md``, "Program"), not to be changed after ``ProgramBuilder.finish``.

    Attributes:
        nodes: three ints a node: operation, a, b.
        targets: node lists of ``ALT``, ``rule, low, high`` of ``REPEAT`` and ``rule, tokens`` of ``BUDGET``.
        rules: entry node of each rule; ``start`` is the rule of the whole text.
        lexemes: pairs of a ``Language`` and its encoding (``_kernel.TEXT`` or ``_kernel.JSON_STRING``).
        objects, arrays: container specs.
        conditions: decision diagram entries ``(event, if_false, if_true)``; entry k is node k + 2.
        token_sets: lists of inclusive id ranges.
        punctuation: nine lexeme indices.
        node_labels: index into ``labels`` for each node, or -1.
        labels: rule names, JSON pointers or constraints in words, for messages only.
        source: the schema it was written from, for messages only; None for grammars of other kinds.

    Two programs are equal when all of these are; ``hash`` and ``digest`` are of the content. Pickles.
    """

    __slots__ = (*_FIELDS, "_digest", "_kernel", "_labels", "_worded", "source")

    nodes: list[int]
    targets: list[int]
    rules: list[int]
    lexemes: list[tuple[Language, int]]
    objects: list[tuple[Any, ...]]
    arrays: list[tuple[Any, ...]]
    conditions: list[tuple[int, int, int]]
    token_sets: list[list[tuple[int, int]]]
    punctuation: list[int]
    start: int
    canonical_keys: bool
    node_labels: list[int]
    source: SchemaSource | None

    def __init__(
        self,
        *,
        nodes: list[int],
        targets: list[int],
        rules: list[int],
        lexemes: list[tuple[Language, int]],
        objects: list[tuple[Any, ...]],
        arrays: list[tuple[Any, ...]],
        conditions: list[tuple[int, int, int]],
        token_sets: list[list[tuple[int, int]]],
        punctuation: list[int],
        start: int,
        canonical_keys: bool,
        node_labels: list[int],
        labels: Sequence[str | Callable[[], str]],
        source: SchemaSource | None = None,
    ) -> None:
        self.nodes = nodes
        self.targets = targets
        self.rules = rules
        self.lexemes = lexemes
        self.objects = objects
        self.arrays = arrays
        self.conditions = conditions
        self.token_sets = token_sets
        self.punctuation = punctuation
        self.start = start
        self.canonical_keys = canonical_keys
        self.node_labels = node_labels
        self.source = source
        self._labels = labels
        self._worded: list[str] | None = None
        self._digest: str | None = None
        self._kernel: Program | None = None

    def arguments(self) -> tuple[Any, ...]:
        """The positional arguments of ``_kernel.Program``."""
        return (
            self.nodes,
            self.targets,
            self.rules,
            self.lexemes,
            self.objects,
            self.arrays,
            self.conditions,
            self.token_sets,
            self.punctuation,
            self.start,
            self.canonical_keys,
            self.node_labels,
        )

    def with_token_sets(self, token_sets: list[list[tuple[int, int]]]) -> ProgramData:
        """The same program over other token sets."""
        fields = {name: getattr(self, name) for name in _FIELDS} | {"token_sets": token_sets}
        return ProgramData(**fields, labels=self.labels, source=self.source)

    def kernel(self) -> Program:
        """The program loaded into the kernel; built once and kept."""
        program = self._kernel
        if program is None:
            # Two threads may both build it: the results are equal and the last one stays.
            program = self._kernel = Program(*self.arguments())
        return program

    @property
    def labels(self) -> list[str]:
        """Rule names, JSON pointers, or constraints in words; those given as functions are put into words now."""
        worded = self._worded
        if worded is None:
            worded = self._worded = [label if isinstance(label, str) else label() for label in self._labels]
        return worded

    def label(self, node: int) -> str | None:
        """Rule name or JSON pointer of a node, or None."""
        index = self.node_labels[node]
        return None if index < 0 else self.labels[index]

    @property
    def digest(self) -> str:
        """SHA-256 of the content, in hexadecimal: the same for equal programs within a version of Scansion."""
        if self._digest is None:
            content = pickle.dumps((self.arguments(), self.labels), protocol=4)
            self._digest = hashlib.sha256(content).hexdigest()
        return self._digest

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ProgramData):
            return NotImplemented
        return self is other or (self.arguments() == other.arguments() and self.labels == other.labels)

    def __hash__(self) -> int:
        return hash((len(self.nodes), len(self.rules), tuple(self.nodes[:96])))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, ({name: getattr(self, name) for name in (*_FIELDS, "labels", "source")},)


def _restore(fields: dict[str, Any]) -> ProgramData:
    return ProgramData(**fields)
