"""Normal forms to program rules.

Every distinct value expression becomes one rule. Rules are written from a worklist (nesting costs no Python stack): a rule id is given
out when an expression is first named and its body is written later, so recursion is a rule that calls itself. When all
are written, a least fixpoint finds the rules that match nothing, and the specs that mention them are corrected (``feasible``).
"""

from __future__ import annotations

import json
from functools import partial

from scansion._kernel import ARRAY, JSON_STRING, LEX, OBJECT, TEXT, Language
from scansion.errors import LimitError
from scansion.json_schema.feasible import Feasibility
from scansion.json_schema.keywords import NUMBER, STRING, VALUES
from scansion.json_schema.lower_arrays import array_spec
from scansion.json_schema.lower_objects import object_spec
from scansion.json_schema.normal_form import Normaliser
from scansion.json_schema.scalars import ANY_NUMBER, ANY_STRING
from scansion.json_schema.shapes import FALSE, NULL, TRUE, Expr, Shape
from scansion.json_schema.words import describe
from scansion.program import ProgramBuilder

__all__ = ["MAX_RULES", "Lowering"]

MAX_RULES = 200_000  # distinct value expressions of one schema
_LITERALS = [[text for bit, text in ((NULL, "null"), (FALSE, "false"), (TRUE, "true")) if mask & bit] for mask in range(8)]
_encode = json.JSONEncoder(ensure_ascii=False).encode


class Lowering:
    """Writes the rules of one schema into a builder.

    Attributes:
        builder, norm: where rules go, and where normal forms come from.
        declared: whether keys come in declared order.
        feasibility: what is known about which rules match anything.
    """

    def __init__(self, builder: ProgramBuilder, norm: Normaliser) -> None:
        self.builder = builder
        self.norm = norm
        self.declared = norm.options.property_order == "declared"
        self.feasibility = Feasibility(builder)
        self._rules: dict[Expr, int] = {None: -1}
        self._queue: list[tuple[int, Expr]] = []
        self._current: Expr = ()

    def rule(self, expr: Expr) -> int:
        """The rule of an expression, -1 where it is ``None``; its body may be written later."""
        rule = self._rules.get(expr)
        if rule is None:
            rule = self._rules[expr] = self.builder.new_rule()
            if rule > MAX_RULES:
                raise LimitError(f"the schema needs more than {MAX_RULES:,} rules", limit="schema_rules", allowed=MAX_RULES)
            self._queue.append((rule, expr))
        return rule

    def run(self, expr: Expr) -> int:
        """Write everything an expression needs; its rule.

        Raises:
            UnsatisfiableError: no value satisfies it; names the cause.
        """
        root = self.rule(expr)
        queue = self._queue
        shape = self.norm.shape
        while queue:
            rule, self._current = queue.pop()
            self._write(rule, self._current, shape(self._current))
        self.feasibility.settle(self, root)
        return root

    @property
    def where(self) -> str:
        """The place of the schema being written, for messages."""
        return f"#{self.norm.documents.sites[self._current[-1] >> 1].pointer}" if self._current else "#"

    def pointer(self, rule: int) -> str:
        """The pointer of the schema a rule was written for (of the last one, where several are conjoined)."""
        for expr, number in self._rules.items():
            if number == rule and expr:
                pointer: str = self.norm.documents.sites[expr[-1] >> 1].pointer
                return pointer
        return ""

    def label(self, expr: Expr) -> int:
        """The label of an expression's schema, or -1 where it has no place of its own."""
        if not expr:
            return -1
        pointer = self.norm.documents.sites[expr[-1] >> 1].pointer
        return self.builder.label(pointer) if pointer else -1

    def _scalar_label(self, expr: Expr, label: int) -> int:
        """The label of the strings and numbers of an expression: with the constraint in words, where one schema says it."""
        if label < 0 or len(expr) != 1 or expr[0] & 1:
            return label
        site = self.norm.documents.sites[expr[0] >> 1]
        return self.builder.later_label(partial(describe, site.pointer, site.schema)) if site.bits & (NUMBER | STRING | VALUES) else label

    def _write(self, rule: int, expr: Expr, shape: Shape) -> None:
        builder = self.builder
        label = self.label(expr)
        nodes: list[int] = []
        scalar = self._scalars(shape, nodes, self._scalar_label(expr, label))
        if scalar:
            self.feasibility.certain(rule)
        order: dict[str, int] | None = None
        for alternative in shape.objects:
            index, certain, order = object_spec(self, alternative, expr, order, label)
            if index < 0:
                continue
            node = builder.node(OBJECT, index, 0, label)
            nodes.append(node)
            self.feasibility.add(rule, node, certain)
        for array in shape.arrays:
            index, certain = array_spec(self, array, label)
            if index < 0:
                continue
            node = builder.node(ARRAY, index, 0, label)
            nodes.append(node)
            self.feasibility.add(rule, node, certain)
        builder.set_rule(rule, builder.alt(nodes, label))

    def _scalars(self, shape: Shape, nodes: list[int], label: int) -> bool:
        """Append the lexemes of the scalar part; whether there are any."""
        builder = self.builder
        texts: list[str] = []
        if shape.literals:
            texts += _LITERALS[shape.literals]
        numbers = shape.numbers
        if numbers is not None:
            texts += numbers.words
            if numbers.language is not None and (numbers is ANY_NUMBER or not numbers.language.is_nothing):
                nodes.append(builder.node(LEX, builder.lexeme(numbers.language, TEXT), 0, label))
        strings = shape.strings
        if strings is not None:
            if strings.words:
                texts += map(_encode, strings.words)
            if strings.language is not None and (strings is ANY_STRING or not strings.language.is_nothing):
                nodes.append(builder.node(LEX, builder.lexeme(strings.language, JSON_STRING), 0, label))
        if texts:
            language = Language.literal(texts[0]) if len(texts) == 1 else Language.literals(texts)
            nodes.append(builder.node(LEX, builder.lexeme(language, TEXT), 0, label))
        return bool(nodes)
