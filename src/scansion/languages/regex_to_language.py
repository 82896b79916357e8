"""Syntax tree of a regular expression to the regular language it accepts, by algebra.

Most expressions translate operator by operator. Where there are assertions, the translation carries the *continuation*: the
language K of all that may follow. Then a look-ahead is an intersection, ``A(?=B)C`` = A · (B·anything ∩ C·K), a negative one
intersects with the complement, and ``$`` intersects with the empty text. What that cannot say, context that depends on what was read (word
boundaries, look-behind) or a loop around a look-ahead, goes to `regex_to_automaton`, which can, at the price of
expanding counts.
"""

from __future__ import annotations

from scansion._kernel import Language
from scansion.errors import LimitError
from scansion.languages.regex_syntax import Alternation, Assertion, CharacterClass, Literal, Look, Ranges, Regex, Repeat, Sequence
from scansion.languages.regex_to_automaton import automaton_language

__all__ = ["MAX_OPTIONAL_RUN", "language_of"]

MAX_OPTIONAL_RUN = 1000  # of x?y?z?... any may come next, and what is left after each is a language of its own: a square of this
_NOTHING = Language.nothing()
_EMPTY = Language.empty()
_ANYTHING = Language.anything()
_ANY_CHARACTER = Language.char_class([(0, 0x10FFFF)])
_SOME_CHARACTERS = Language.concat([_ANY_CHARACTER, _ANYTHING])
_UNROLLED = 8  # a counted group with context inside is written out up to this many times
_KEPT_CLASSES = 512
_STEPS = 100_000  # nested counts multiply; the automaton has bounds of its own


class _NeedsAutomaton(Exception):
    """The expression has context that the algebra cannot carry."""


def language_of(tree: Regex, *, search: bool) -> Language:
    """The texts that ``tree`` matches: as a whole, or (``search``) anywhere inside.

    Raises:
        LimitError: look-arounds that need too many states (see `regex_to_automaton`), or more than `MAX_OPTIONAL_RUN` parts side by
            side each of which may be left out.
    """
    if type(tree) not in (Literal, CharacterClass):
        _check_optional_runs(tree)
    parts = tree.parts if type(tree) is Sequence else (tree,)
    first, last = 0, len(parts)
    head = tail = search
    if last and type(parts[0]) is Assertion and parts[0].kind == "text_start":
        first, head = 1, False
    if last > first and type(parts[-1]) is Assertion and parts[-1].kind == "text_end":
        last, tail = last - 1, False
    try:
        body = [_plain(part) for part in parts[first:last]]
    except _NeedsAutomaton:
        return _with_context(tree, search)
    if head:
        body.insert(0, _ANYTHING)
    if tail:
        body.append(_ANYTHING)
    return body[0] if len(body) == 1 else Language.concat(body)


def _check_optional_runs(tree: Regex) -> None:
    todo = [tree]
    while todo:
        node = todo.pop()
        if type(node) in (Literal, CharacterClass):
            continue
        if isinstance(node, Sequence) and len(node.parts) > MAX_OPTIONAL_RUN:
            run = 0
            for part in node.parts:
                run = run + 1 if _may_be_empty(part) else 0
                if run > MAX_OPTIONAL_RUN:
                    place = f" at offset {part.offset}" if isinstance(part, Repeat | Look | Assertion) else ""
                    raise LimitError(
                        f"more than {MAX_OPTIONAL_RUN:,} parts side by side that may each be left out{place}",
                        limit="optional_parts",
                        allowed=MAX_OPTIONAL_RUN,
                    )
        todo += _children(node)


def _may_be_empty(tree: Regex) -> bool:
    if isinstance(tree, Sequence):
        return all(map(_may_be_empty, tree.parts))
    if isinstance(tree, Alternation):
        return any(map(_may_be_empty, tree.options))
    if isinstance(tree, Repeat):
        return tree.low == 0 or _may_be_empty(tree.body)
    return isinstance(tree, Look | Assertion)


_class_languages: dict[int, tuple[Ranges, Language]] = {}  # by identity: the reader gives equal classes as one object


def _class_language(ranges: Ranges) -> Language:
    known = _class_languages.get(id(ranges))
    if known is not None:
        return known[1]
    language = Language.char_class(ranges)
    if len(_class_languages) >= _KEPT_CLASSES:
        _class_languages.clear()
    _class_languages[id(ranges)] = (ranges, language)  # kept alive with its language, so no other gets its identity
    return language


def _plain(tree: Regex) -> Language:
    """The language of an expression without assertions; raises `_NeedsAutomaton` where there is one."""
    kind = type(tree)
    if kind is Literal:
        return Language.literal(tree.text)  # type: ignore[union-attr]
    if kind is CharacterClass:
        return _class_language(tree.ranges)  # type: ignore[union-attr]
    if kind is Repeat:
        return _plain(tree.body).repeat(tree.low, tree.high)  # type: ignore[union-attr]
    if kind is Sequence:
        return Language.concat([_plain(part) for part in tree.parts])  # type: ignore[union-attr]
    if kind is Alternation:
        texts = [option.text for option in tree.options if type(option) is Literal]  # type: ignore[union-attr]
        if len(texts) < 2:
            return Language.union([_plain(option) for option in tree.options])  # type: ignore[union-attr]
        rest = [_plain(option) for option in tree.options if type(option) is not Literal]  # type: ignore[union-attr]
        return Language.union([Language.literals(texts), *rest])
    raise _NeedsAutomaton


def _with_context(tree: Regex, search: bool) -> Language:
    translator = _Continuation(tree)
    rest = _ANYTHING if search else _EMPTY
    try:
        at_start = translator.before(tree, rest, True)
        if not search:
            return at_start
        inside = translator.before(tree, rest, False) if translator.looks_back(tree) else at_start
    except _NeedsAutomaton:
        return automaton_language(tree, search=search)
    if inside is at_start:
        return Language.concat([_ANYTHING, at_start])
    return Language.union([at_start, Language.concat([_ANY_CHARACTER, _ANYTHING, inside])])


class _Continuation:
    """Translation with continuation, remembering what it found out about subtrees (by identity: they outlive it)."""

    def __init__(self, tree: Regex) -> None:
        self._steps = 0
        self._languages: dict[int, Language] = {}
        self._with_context: set[int] = set()
        self._looking_back: set[int] = set()
        self._may_be_empty: set[int] = set()
        self._consuming: set[int] = set()
        self._examine(tree)

    def _examine(self, tree: Regex) -> None:
        """Note of every subtree whether it has context, looks back, may match nothing, can read anything."""
        key = id(tree)
        children = _children(tree)
        for child in children:
            self._examine(child)
        looks = isinstance(tree, Look | Assertion)
        if looks or any(id(child) in self._with_context for child in children):
            self._with_context.add(key)
        if isinstance(tree, Assertion):
            back = tree.kind not in ("text_end", "line_end")
        else:
            back = (isinstance(tree, Look) and not tree.ahead) or any(id(child) in self._looking_back for child in children)
        if back:
            self._looking_back.add(key)
        empty = [id(child) in self._may_be_empty for child in children]
        if isinstance(tree, Repeat):
            may_be_empty = not tree.low or all(empty)
        elif isinstance(tree, Alternation):
            may_be_empty = any(empty)
        else:
            may_be_empty = looks or (isinstance(tree, Sequence) and all(empty))
        if may_be_empty:
            self._may_be_empty.add(key)
        if isinstance(tree, Literal | CharacterClass) or (not looks and any(id(child) in self._consuming for child in children)):
            self._consuming.add(key)

    def plain(self, tree: Regex) -> Language | None:
        """The language of a subtree without context; None where it has some."""
        key = id(tree)
        if key in self._with_context:
            return None
        if key not in self._languages:
            self._languages[key] = _plain(tree)
        return self._languages[key]

    def looks_back(self, tree: Regex) -> bool:
        """Whether what ``tree`` matches can depend on what stands before it."""
        return id(tree) in self._looking_back

    def after(self, at_start: bool | None, tree: Regex) -> bool | None:
        """What is known about the place after ``tree``, begun where ``at_start`` says (see `before`)."""
        if at_start is False or id(tree) not in self._may_be_empty:
            return False
        return None if id(tree) in self._consuming else at_start

    def before(self, tree: Regex, rest: Language, at_start: bool | None) -> Language:
        """``tree`` and then ``rest``, begun at the start of the text, (False) not there, or (None) either.

        Raises `_NeedsAutomaton` where the answer depends on more than that.
        """
        self._steps += 1
        if self._steps > _STEPS:
            raise _NeedsAutomaton
        plain = self.plain(tree)
        if plain is not None:
            return Language.concat([plain, rest])
        if isinstance(tree, Sequence):
            starts = [at_start]
            for part in tree.parts[:-1]:
                starts.append(self.after(starts[-1], part))
            for part, start in zip(reversed(tree.parts), reversed(starts), strict=True):
                rest = self.before(part, rest, start)
            return rest
        if isinstance(tree, Alternation):
            return Language.union([self.before(option, rest, at_start) for option in tree.options])
        if isinstance(tree, Repeat):
            return self._repeat(tree, rest, at_start)
        if isinstance(tree, Look):
            if not tree.ahead:
                raise _NeedsAutomaton
            body = self.before(tree.body, _ANYTHING, at_start)
            return Language.intersection([rest, body.complement() if tree.negative else body])
        if isinstance(tree, Assertion):
            return self._assertion(tree, rest, at_start)
        raise _NeedsAutomaton

    def _repeat(self, tree: Repeat, rest: Language, at_start: bool | None) -> Language:
        if tree.high is None or tree.high > _UNROLLED:
            return self._tempered(tree, rest)
        later = self.after(at_start, tree.body)
        result = rest
        for done in reversed(range(tree.high)):
            once = self.before(tree.body, result, at_start if done == 0 else later)
            result = Language.union([once, rest]) if done >= tree.low else once
        return result

    def _tempered(self, tree: Repeat, rest: Language) -> Language:
        """``(?:(?!B)C){m,n}`` up to the end of the text: C{m,n} of which no non-empty suffix breaks a look-ahead."""
        parts = tree.body.parts if isinstance(tree.body, Sequence) else ()
        looks = [part for part in parts[:-1] if isinstance(part, Look)]
        if rest != _EMPTY or not looks or len(looks) != len(parts) - 1 or any(self.looks_back(look) for look in looks):
            raise _NeedsAutomaton
        character = self.plain(parts[-1])
        if character is None or character.max_length() != 1 or character.min_length() != 1:
            raise _NeedsAutomaton
        texts = [character.repeat(tree.low, tree.high)]
        for look in looks:
            broken = self.before(look, _ANYTHING, False).complement()
            texts.append(Language.concat([_ANYTHING, Language.intersection([broken, _SOME_CHARACTERS])]).complement())
        return Language.intersection(texts)

    @staticmethod
    def _assertion(tree: Assertion, rest: Language, at_start: bool | None) -> Language:
        if tree.kind == "text_end":
            return _EMPTY if rest.nullable else _NOTHING
        if tree.kind == "line_end":
            terminator = Language.concat([Language.char_class(tree.ranges), _ANYTHING])
            return Language.intersection([rest, Language.union([_EMPTY, terminator])])
        if at_start and tree.kind in ("text_start", "line_start"):
            return rest
        if at_start is False and tree.kind == "text_start":
            return _NOTHING
        if at_start:  # before a text there is no word character
            word = Language.concat([Language.char_class(tree.ranges), _ANYTHING])
            return Language.intersection([rest, word if tree.kind == "boundary" else word.complement()])
        raise _NeedsAutomaton


def _children(tree: Regex) -> tuple[Regex, ...]:
    if isinstance(tree, Sequence):
        return tree.parts
    if isinstance(tree, Alternation):
        return tree.options
    return (tree.body,) if isinstance(tree, Repeat | Look) else ()
