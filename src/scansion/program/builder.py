"""Writes a flat program, one append at a time.

Everything is an index into a growing list. A rule may be called before its body exists (``new_rule`` then ``set_rule``),
and a container spec may be replaced until ``finish`` (``replace_object``, ``replace_array``): the JSON Schema front end
learns which values are impossible only when all of them are written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from scansion._kernel import ALT, BUDGET, CALL, FAIL, LEX, REPEAT, RET, TEXT, Language
from scansion.errors import GrammarError, LimitError
from scansion.program.data import ProgramData
from scansion.program.whitespace import PUNCTUATION, WHITESPACE_POLICIES, around_root, punctuation

__all__ = ["MAX_NODES", "ProgramBuilder"]

_SPARE = PUNCTUATION.index("spare")  # carries the white space around the root
MAX_NODES = 8_000_000  # a program of this size takes about 400 MB; real ones have thousands


@cache
def _punctuation_lexemes(policy: str) -> tuple[list[tuple[Language, int]], dict[tuple[Language, int], int], list[int]]:
    """The lexemes every program of a policy begins with: the list, its index, and the nine punctuation indices."""
    lexemes: list[tuple[Language, int]] = []
    index: dict[tuple[Language, int], int] = {}
    marks = []
    for language in punctuation(policy):
        key = (language, TEXT)
        if key not in index:
            index[key] = len(lexemes)
            lexemes.append(key)
        marks.append(index[key])
    return lexemes, index, marks


class ProgramBuilder:
    """Collects lexemes, nodes, rules and container specs; ``finish`` gives the ``ProgramData``.

    Args:
        whitespace: white space policy of JSON containers, one of ``WHITESPACE_POLICIES``.
        canonical_keys: declared object keys are spelled as ``json.dumps(key, ensure_ascii=False)`` writes them;
            otherwise in any legal spelling.

    Raises:
        GrammarError: unknown policy.
        LimitError: from ``node``, past ``MAX_NODES`` nodes.

    Attributes:
        nodes, rules, objects, arrays: the lists under construction. ``nodes`` and the specs may be rewritten in place
            by the front end that wrote them.
        ret, fail: the shared ``RET`` and ``FAIL`` nodes.
    """

    def __init__(self, whitespace: str = "bounded", canonical_keys: bool = True) -> None:
        if whitespace not in WHITESPACE_POLICIES:
            raise GrammarError(f"whitespace is {whitespace!r}", construct="whitespace", hint=f"use one of {', '.join(WHITESPACE_POLICIES)}")
        self.whitespace = whitespace
        self.canonical_keys = canonical_keys
        self.nodes: list[int] = [RET, 0, 0, FAIL, 0, 0]
        self.node_labels: list[int] = [-1, -1]
        self.rules: list[int] = []
        self.objects: list[tuple[Any, ...]] = []
        self.arrays: list[tuple[Any, ...]] = []
        self.ret = 0
        self.fail = 1
        self._targets: list[int] = []
        lexemes, lexeme_ids, marks = _punctuation_lexemes(whitespace)
        self._lexemes: list[tuple[Language, int]] = lexemes.copy()
        self._lexeme_ids: dict[tuple[Language, int], int] = lexeme_ids.copy()
        self._punctuation = marks
        self._conditions: list[tuple[int, int, int]] = []
        self._condition_ids: dict[tuple[int, int, int], int] = {}
        self._token_sets: list[list[tuple[int, int]]] = []
        self._token_set_ids: dict[tuple[tuple[int, int], ...], int] = {}
        self._labels: list[str | Callable[[], str]] = []
        self._label_ids: dict[str, int] = {}

    def lexeme(self, language: Language, encoding: int) -> int:
        """Index of a lexeme; the same language and encoding give the same index."""
        key = (language, encoding)
        index = self._lexeme_ids.get(key)
        if index is None:
            index = self._lexeme_ids[key] = len(self._lexemes)
            self._lexemes.append(key)
        return index

    def node(self, op: int, a: int = 0, b: int = 0, label: int = -1) -> int:
        """Append a node; its index."""
        labels = self.node_labels
        index = len(labels)
        if index >= MAX_NODES:
            raise LimitError(f"the grammar needs more than {MAX_NODES:,} program nodes", limit="program_nodes", allowed=MAX_NODES)
        labels.append(label)
        self.nodes += (op, a, b)
        return index

    def lex(self, language: Language, encoding: int, next_node: int = 0, label: int = -1) -> int:
        """A ``LEX`` node for a language."""
        return self.node(LEX, self.lexeme(language, encoding), next_node, label)

    def alt(self, nodes: Sequence[int], label: int = -1) -> int:
        """A node that is any of ``nodes``: the node itself where there is one, ``fail`` where there is none."""
        if len(nodes) == 1:
            return nodes[0]
        if not nodes:
            return self.fail
        first = len(self._targets)
        self._targets += nodes
        return self.node(ALT, first, len(nodes), label)

    def targets(self, first: int, count: int) -> list[int]:
        """The nodes that an ``ALT`` node is any of."""
        return self._targets[first : first + count]

    @property
    def lexemes(self) -> Sequence[tuple[Language, int]]:
        """The lexemes so far, each a language and an encoding."""
        return self._lexemes

    def repeat(self, rule: int, low: int, high: int, next_node: int = 0, label: int = -1) -> int:
        """A node that matches ``rule`` from ``low`` to ``high`` times (-1: without bound), then goes on at ``next_node``."""
        first = len(self._targets)
        self._targets += (rule, low, high)
        return self.node(REPEAT, first, next_node, label)

    def budget(self, rule: int, tokens: int, next_node: int = 0, label: int = -1) -> int:
        """A node that matches ``rule`` for at most ``tokens`` tokens (1 to 2**31 - 1), then goes on at ``next_node``.

        What follows must be able to finish, and no value inside a container may hold such a node.
        """
        first = len(self._targets)
        self._targets += (rule, tokens)
        return self.node(BUDGET, first, next_node, label)

    def token_set(self, ranges: Sequence[tuple[int, int]]) -> int:
        """Index of a set of token ids given as inclusive ranges."""
        key = tuple(ranges)
        index = self._token_set_ids.get(key)
        if index is None:
            index = self._token_set_ids[key] = len(self._token_sets)
            self._token_sets.append(list(key))
        return index

    def new_rule(self) -> int:
        """A rule without a body yet (it fails until ``set_rule``)."""
        self.rules.append(self.fail)
        return len(self.rules) - 1

    def set_rule(self, rule: int, node: int) -> None:
        """Give a rule its entry node."""
        self.rules[rule] = node

    def object(
        self,
        order: int,
        properties: Sequence[tuple[str, Any, bool]],
        groups: Sequence[tuple[Language, Any]] = (),
        min_properties: int = 0,
        max_properties: int = -1,
        condition: int = -1,
        label: int = -1,
    ) -> int:
        """Append an object spec; its index (the ``a`` of an ``OBJECT`` node)."""
        self.objects.append((order, properties, groups, min_properties, max_properties, condition, label))
        return len(self.objects) - 1

    def array(
        self,
        prefix: Sequence[Any],
        rest: Any,
        min_items: int = 0,
        max_items: int = -1,
        unique: bool = False,
        counters: Sequence[tuple[int, int]] = (),
        label: int = -1,
    ) -> int:
        """Append an array spec; its index (the ``a`` of an ``ARRAY`` node)."""
        self.arrays.append((prefix, rest, min_items, max_items, unique, counters, label))
        return len(self.arrays) - 1

    def replace_object(self, index: int, spec: tuple[Any, ...]) -> None:
        """Put another spec, a full tuple as ``object`` takes it, in place of one."""
        self.objects[index] = spec

    def replace_array(self, index: int, spec: tuple[Any, ...]) -> None:
        """Put another spec, a full tuple as ``array`` takes it, in place of one."""
        self.arrays[index] = spec

    def condition(self, event: int, if_false: int, if_true: int) -> int:
        """A decision on one event: node number (0 is false, 1 is true). Interned, and reduced where both ways agree."""
        if if_false == if_true:
            return if_false
        key = (event, if_false, if_true)
        index = self._condition_ids.get(key)
        if index is None:
            index = self._condition_ids[key] = len(self._conditions) + 2
            self._conditions.append(key)
        return index

    def condition_entry(self, node: int) -> tuple[int, int, int]:
        """``(event, if_false, if_true)`` of a decision node above 1."""
        return self._conditions[node - 2]

    def label(self, text: str) -> int:
        """Index of a label; the same text gives the same index."""
        index = self._label_ids.get(text)
        if index is None:
            index = self._label_ids[text] = len(self._labels)
            self._labels.append(text)
        return index

    def later_label(self, text: Callable[[], str]) -> int:
        """Index of a label that is put into words only when one is asked for (so it must not depend on what may change)."""
        self._labels.append(text)
        return len(self._labels) - 1

    def json_root(self, value: int) -> int:
        """A rule for a whole JSON text: the rule ``value`` with the white space its policy allows around it."""
        if around_root(self.whitespace) is None:
            return value
        # Of every grammar of JSON, so written in one piece: the white space behind, the value, the white space before.
        after, around = len(self.node_labels), self._punctuation[_SPARE]
        self.nodes += (LEX, around, self.ret, CALL, value, after, LEX, around, after + 1)
        self.node_labels += (-1, -1, -1)
        self.rules.append(after + 2)
        return len(self.rules) - 1

    def finish(self, start: int) -> ProgramData:
        """The finished program with ``start`` as the rule of the whole text. The builder must not be used afterwards."""
        return ProgramData(
            nodes=self.nodes,
            targets=self._targets,
            rules=self.rules,
            lexemes=self._lexemes,
            objects=self.objects,
            arrays=self.arrays,
            conditions=self._conditions,
            token_sets=self._token_sets,
            punctuation=self._punctuation,
            start=start,
            canonical_keys=self.canonical_keys,
            node_labels=self.node_labels,
            labels=self._labels,
        )
