"""Regular parts of a grammar become one language each.

A text matched by one lexeme costs the kernel a state and, where many tokens stay inside it, a table of the vocabulary
that is kept; the same text matched by rules costs a stack and a walk. So texts side by side, choices of texts and
repetitions of texts are folded into the algebra of languages, through rules that are not recursive and through those
that recurse only at one end (``ws ::= [ \\t] ws | ""``, solved by Arden's lemma: X = A X | B is A* B).

Folding stops where it would cost more than it gives. Each place where a language goes round in a wide class ("dense") is
a table of its own, so a language may have ``_MAX_DENSE`` of them: past that the parts stay apart and share their tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import is_

from scansion._kernel import Language
from scansion.errors import LimitError
from scansion.grammar.check import without_unused
from scansion.grammar.graph import strong_components
from scansion.grammar.nodes import EMPTY, Call, Choice, Expression, Repeat, Rules, Seq, Text, choice, repeat, seq

__all__ = ["collapse"]

_MAX_DENSE = 6
_MAX_SIZE = 2000  # leaves folded into one language
_WIDE = 200  # words from which a leaf counts as dense
_WIDE_LOOP = 32  # the same for the body of an unbounded repetition
_MANY_LITERALS = 16


@dataclass(frozen=True, slots=True)
class _Folded:
    """A language with what it costs."""

    language: Language
    size: int
    dense: int

    @property
    def fits(self) -> bool:
        return self.size <= _MAX_SIZE and self.dense <= _MAX_DENSE


def collapse(rules: Rules) -> Rules:
    """The grammar with its regular parts folded, and without the rules that are no longer called."""
    graph = rules.survey.calls
    folder = _Folder()
    bodies: dict[str, Expression] = {}
    for component in strong_components(graph):
        for name in component:
            body = folder.fold(rules.rules[name])
            if len(component) == 1:
                if name in graph[name]:
                    body = folder.solve(name, body)
                if type(body) is Text:
                    folder.regular[name] = body
            bodies[name] = body
    return without_unused(rules.replaced(bodies))


class _Folder:
    def __init__(self) -> None:
        self.regular: dict[str, Text] = {}  # rules that are one language
        self._costs: dict[Language, _Folded] = {}
        self._texts: dict[Language, Text] = {}

    def fold(self, expression: Expression) -> Expression:
        """The expression with what is regular in it folded; the same object where nothing is."""
        if isinstance(expression, Text):
            return expression
        if isinstance(expression, Call):
            return self.regular.get(expression.rule, expression)
        if isinstance(expression, Seq):
            return self.sequence(expression)
        if isinstance(expression, Choice):
            return self.alternatives(expression)
        if isinstance(expression, Repeat):
            return self.repetition(expression)
        return expression

    def cost(self, text: Text) -> _Folded:
        """What a text costs; a leaf that was not folded here is measured."""
        known = self._costs.get(text.language)
        if known is None:
            known = self._costs[text.language] = _Folded(text.language, 1, int(_has_words(text.language, _WIDE)))
        return known

    def text(self, folded: _Folded) -> Text:
        language = folded.language
        known = self._costs.get(language)
        if known is None or known.size > folded.size:
            self._costs[language] = folded
        node = self._texts.get(language)
        if node is None:
            node = self._texts[language] = Text(language)
        return node

    def sequence(self, expression: Seq) -> Expression:
        """Runs of texts side by side are joined, as far as each run fits."""
        parts = expression.parts
        opened = [part if type(part) is Text else self.fold(part) for part in parts]
        if any(type(part) is Seq or type(part) is Choice for part in opened):
            plain = seq(opened)
            opened = list(plain.parts) if isinstance(plain, Seq) else [plain]
        out: list[Expression] = []
        run: list[_Folded] = []
        size = dense = 0
        costs = self._costs
        for part in opened:
            if type(part) is not Text:
                if run:
                    out.append(self.joined(run, size, dense))
                    run, size, dense = [], 0, 0
                out.append(part)
                continue
            folded = costs.get(part.language) or self.cost(part)
            size += folded.size
            dense += folded.dense
            if run and (size > _MAX_SIZE or dense > _MAX_DENSE):
                out.append(self.joined(run, size - folded.size, dense - folded.dense))
                run, size, dense = [], folded.size, folded.dense
            run.append(folded)
        if run:
            out.append(self.joined(run, size, dense))
        if len(out) == len(parts) and all(map(is_, out, parts)):
            return expression
        return out[0] if len(out) == 1 else seq(out)

    def joined(self, run: list[_Folded], size: int, dense: int) -> Text:
        if len(run) == 1:
            return self.text(run[0])
        return self.text(_Folded(Language.concat([part.language for part in run]), size, dense))

    def alternatives(self, expression: Choice) -> Expression:
        """The texts of a choice are united; its other alternatives stay."""
        opened = choice([part if type(part) is Text else self.fold(part) for part in expression.parts])
        if not isinstance(opened, Choice):
            return opened
        texts: list[Text] = []
        others: list[Expression] = []
        first_text = -1
        has_empty = False
        for part in opened.parts:
            if isinstance(part, Text):
                first_text = len(others) if first_text < 0 else first_text
                texts.append(part)
            elif isinstance(part, Seq) and not part.parts:
                has_empty = True
            else:
                others.append(part)
        if not texts:
            return opened
        united: list[Expression] = list(self.united(texts))
        if has_empty and len(united) == 1 and isinstance(united[0], Text):
            folded = self.cost(united[0])
            united = [self.text(_Folded(Language.union([folded.language, Language.empty()]), folded.size, folded.dense))]
        elif has_empty:
            united.append(EMPTY)
        return choice([*others[:first_text], *united, *others[first_text:]])

    def united(self, texts: list[Text]) -> Iterable[Text]:
        literals: list[str] = []
        rest: list[_Folded] = []
        if len(texts) > _MANY_LITERALS:
            for text in texts:
                words = _words(text.language)
                literals += words
                if not words:
                    rest.append(self.cost(text))
        else:
            rest = [self.cost(text) for text in texts]
        groups: list[list[_Folded]] = [[]]
        if literals:
            groups[0].append(_Folded(Language.literals(literals), 1, 0))
        size = dense = 0
        for folded in rest:
            if groups[-1] and (size + folded.size > _MAX_SIZE or dense + folded.dense > _MAX_DENSE):
                groups.append([])
                size = dense = 0
            groups[-1].append(folded)
            size += folded.size
            dense += folded.dense
        for group in groups:
            language = group[0].language if len(group) == 1 else Language.union([folded.language for folded in group])
            yield self.text(_Folded(language, sum(folded.size for folded in group), sum(folded.dense for folded in group)))

    def repetition(self, expression: Repeat) -> Expression:
        body = self.fold(expression.body)
        plain = repeat(body, expression.low, expression.high)
        if not isinstance(body, Text) or not isinstance(plain, Repeat):
            return plain
        folded = self.repeated(self.cost(body), plain.low, plain.high)
        return self.text(folded) if folded.fits else plain

    def repeated(self, body: _Folded, low: int, high: int | None) -> _Folded:
        language = body.language
        dense = body.dense
        counted = high if high is not None else low
        if counted > 1:
            # Every turn is a state of its own, but for single characters, where the kernel counts.
            one_character = dense == 1 and body.size == 1 and language.max_length() == 1
            dense = dense if one_character else dense * counted
        elif _has_words(language, _WIDE_LOOP):
            dense = max(dense, 1)
        return _Folded(language.repeat(low, high), body.size + 1, dense)

    def solve(self, name: str, body: Expression) -> Expression:
        """A rule that calls itself only at the end, or only at the beginning, of its alternatives, as a language."""
        steps: list[_Folded] = []
        ends: list[_Folded] = []
        at_end: bool | None = None
        for part in _alternatives(body):
            if isinstance(part, Text):
                ends.append(self.cost(part))
            elif part == EMPTY:
                ends.append(_Folded(Language.empty(), 0, 0))
            elif isinstance(part, Seq) and len(part.parts) == 2:
                first, second = part.parts
                if isinstance(first, Text) and second == Call(name) and at_end is not False:
                    at_end = True
                    steps.append(self.cost(first))
                elif isinstance(second, Text) and first == Call(name) and at_end is not True:
                    at_end = False
                    steps.append(self.cost(second))
                else:
                    return body
            else:
                return body
        if not steps or not ends:
            return body
        step = Language.union([folded.language for folded in steps])
        turns = self.repeated(_Folded(step, sum(folded.size for folded in steps), sum(folded.dense for folded in steps)), 0, None)
        end = Language.union([folded.language for folded in ends])
        whole = Language.concat([turns.language, end] if at_end else [end, turns.language])
        folded = _Folded(whole, turns.size + sum(folded.size for folded in ends), turns.dense + sum(folded.dense for folded in ends))
        return self.text(folded) if folded.fits else body


def _alternatives(body: Expression) -> tuple[Expression, ...]:
    if isinstance(body, Choice):
        return body.parts
    if isinstance(body, Repeat) and (body.low, body.high) == (0, 1):
        return (*_alternatives(body.body), EMPTY)
    return (body,)


def _has_words(language: Language, limit: int) -> bool:
    try:
        return language.count(limit) >= limit
    except LimitError:
        return True


def _words(language: Language) -> list[str]:
    """The one word of a literal; nothing for other languages."""
    try:
        return language.words(1) or []
    except LimitError:
        return []
