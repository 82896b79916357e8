"""Normal forms to program rules.

Every distinct value expression becomes one rule. Rules are written from a worklist (nesting costs no Python stack): a rule id is given
out when an expression is first named and its body is written later, so recursion is a rule that calls itself. When all
are written, a least fixpoint finds the rules that match nothing, and the specs that mention them are corrected (``feasible``).
"""

from __future__ import annotations

from functools import partial

from scansion._kernel import ARRAY, JSON_STRING, LEX, OBJECT, TEXT, Language
from scansion.errors import LimitError, UnsupportedError
from scansion.json_schema.feasible import Feasibility
from scansion.json_schema.keywords import NUMBER, STRING, VALUES
from scansion.json_schema.lower_arrays import array_spec
from scansion.json_schema.lower_objects import object_specs
from scansion.json_schema.lower_plainly import write_anything, written_plainly
from scansion.json_schema.normal_form import Normaliser
from scansion.json_schema.scalars import NumberSet, StringSet, string_text
from scansion.json_schema.shapes import LITERAL_LANGUAGES, LITERAL_TEXTS, Expr, Shape
from scansion.json_schema.words import describe
from scansion.program import ProgramBuilder

__all__ = ["MAX_RULES", "Lowering"]

MAX_RULES = 200_000  # distinct value expressions of one schema


class Lowering:
    """Writes the rules of one schema into a builder.

    Attributes:
        builder, norm: where rules go, and where normal forms come from.
        declared: whether keys come in declared order.
        canonical: whether constants are spelled canonically.
        feasibility: what is known about which rules match anything.
        rules: the rule of each expression that has one.
        explains: whether it is found out which keywords make a schema unsatisfiable.
    """

    def __init__(self, builder: ProgramBuilder, norm: Normaliser) -> None:
        self.builder = builder
        self.norm = norm
        self.declared = norm.options.property_order == "declared"
        self.canonical = norm.options.spelling == "canonical"
        self.feasibility = Feasibility(builder)
        self.rules: dict[Expr, int] = {None: -1}
        self.explains = True
        self._queue: list[tuple[int, Expr]] = []
        self._current: Expr = ()
        self._shared_lexemes: dict[StringSet | NumberSet, int] = {}  # of sets many schemas share (sets compare by identity)

    def rule(self, expr: Expr) -> int:
        """The rule of an expression, -1 where it is ``None``; its body may be written later."""
        rule = self.rules.get(expr)
        if rule is None:
            rules = self.builder.rules
            rule = self.rules[expr] = len(rules)
            rules.append(self.builder.fail)
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
        shape, sites = self.norm.shape, self.norm.documents.sites
        while queue:
            rule, expr = queue.pop()
            self._current = expr
            if not expr:
                write_anything(self, rule)
            elif len(expr) != 1 or expr[0] & 1 or not written_plainly(self, rule, sites[expr[0] >> 1]):
                self._write(rule, expr, shape(expr))
        self.feasibility.settle(self, root)
        return root

    def again(self) -> Lowering:
        """A lowering of the same schema into a program of its own, which does not look for causes."""
        fresh = Lowering(ProgramBuilder(self.builder.whitespace, self.builder.canonical_keys), self.norm)
        fresh.explains = False
        return fresh

    @property
    def where(self) -> str:
        """The place of the schema being written, for messages."""
        return f"#{self.norm.documents.sites[self._current[-1] >> 1].pointer}" if self._current else "#"

    def expr_of(self, rule: int) -> Expr:
        """The expression a rule was written for."""
        return next((expr for expr, number in self.rules.items() if number == rule and expr), ())

    def pointer(self, rule: int) -> str:
        """The pointer of the schema a rule was written for (of the last one, where several are conjoined)."""
        return self._site(self.expr_of(rule))

    def _site(self, expr: Expr) -> str:
        pointer: str = self.norm.documents.sites[expr[-1] >> 1].pointer if expr else ""
        return pointer

    def _write(self, rule: int, expr: Expr, shape: Shape) -> None:
        builder = self.builder
        label = -1  # where the schema has no place of its own
        nodes: list[int] = []
        if expr:
            site = self.norm.documents.sites[expr[-1] >> 1]
            if site.pointer:
                label = builder.label(site.pointer)
        if shape.strings is not None or shape.numbers is not None or shape.literals:
            worded = label
            if label >= 0 and site.bits & (NUMBER | STRING | VALUES) and len(expr) == 1 and not expr[0] & 1:
                # One schema says it: strings and numbers are labelled with the constraint in words.
                worded = builder.later_label(partial(describe, site.pointer, site.schema))
            self.write_scalars(rule, shape.literals, shape.numbers, shape.strings, nodes, worded)
        order: dict[str, int] | None = None
        for alternative in shape.objects:
            indices, certain, order = object_specs(self, alternative, expr, order, label)
            for index in indices:
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
        builder.rules[rule] = nodes[0] if len(nodes) == 1 else builder.alt(nodes, label)

    def write_scalars(
        self, rule: int, literals: int, numbers: NumberSet | None, strings: StringSet | None, nodes: list[int], label: int
    ) -> None:
        """Append the lexemes of the scalar part of a rule to its alternatives.

        Raises:
            UnsupportedError: the kernel cannot tell within its bounds whether anything is left; names the pointer and the keyword.
        """
        before = len(nodes)
        try:
            self._scalars(literals, numbers, strings, nodes, label)
        except LimitError as error:
            if error.limit != "language_states":
                raise
            keyword = "multipleOf" if numbers is not None and numbers.language is not None else "pattern"
            raise UnsupportedError(
                f"what {keyword} and the keywords beside it leave together takes more than {error.allowed:,} states to work out",
                pointer=self._site(self._current),
                construct=keyword,
                hint="simplify one of them, or leave it to the lenient option",
            ) from None
        if len(nodes) > before:
            self.feasibility.certain(rule)

    def _scalars(self, literals: int, numbers: NumberSet | None, strings: StringSet | None, nodes: list[int], label: int) -> None:
        builder = self.builder
        texts: list[str] = []
        if numbers is not None:
            if numbers.words:
                texts += numbers.words
            numbers.decide()
            if numbers.language is not None:
                lexeme = self._lexeme(numbers, numbers.language, TEXT)
                if lexeme >= 0:
                    nodes.append(builder.node(LEX, lexeme, 0, label))
                    self.feasibility.numbers[lexeme] = numbers
        if strings is not None:
            if strings.words:
                texts += map(string_text, strings.words)
            if strings.apart:
                apart = [language for language in strings.apart if not language.is_nothing]
                nodes += [builder.node(LEX, builder.lexeme(language, JSON_STRING), 0, label) for language in apart]
            elif strings.language is not None:
                lexeme = self._lexeme(strings, strings.language, JSON_STRING)
                if lexeme >= 0:
                    nodes.append(builder.node(LEX, lexeme, 0, label))
        if texts:
            if literals:
                texts = LITERAL_TEXTS[literals] + texts
            language = Language.literals(texts)
            nodes.append(builder.node(LEX, builder.lexeme(language, TEXT), 0, label))
        elif literals:
            nodes.append(builder.node(LEX, builder.lexeme(LITERAL_LANGUAGES[literals], TEXT), 0, label))

    def _lexeme(self, owner: StringSet | NumberSet, language: Language, encoding: int) -> int:
        """The lexeme of the language of a set, -1 where it is empty."""
        lexeme = self._shared_lexemes.get(owner)
        if lexeme is None:
            lexeme = -1 if language.is_nothing else self.builder.lexeme(language, encoding)
            self._shared_lexemes[owner] = lexeme
        return lexeme
