"""A fixed list of texts, any one of which is the whole answer."""

from __future__ import annotations

from collections.abc import Iterable

from scansion._kernel import Language
from scansion.errors import GrammarError, LimitError, UnsatisfiableError
from scansion.grammar.nodes import Rules, Text

__all__ = ["MAX_CHOICE_CHARACTERS", "choices"]

MAX_CHOICE_CHARACTERS = 16 * 1024 * 1024  # of all texts together


def choices(texts: Iterable[str]) -> Rules:
    """A grammar whose texts are exactly those given; the same one twice counts once.

    Raises:
        GrammarError: something given is not a string, or holds half of a surrogate pair.
        UnsatisfiableError: nothing is given.
        LimitError: more than ``MAX_CHOICE_CHARACTERS`` together.
    """
    if isinstance(texts, str):
        raise GrammarError("choices are a list of strings, not one string", construct="choices", hint="put the string in a list")
    if not isinstance(texts, Iterable):
        raise GrammarError(f"choices are a list of strings, not {type(texts).__name__}", construct="choices")
    words: dict[str, None] = {}
    total = 0
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise GrammarError(f"choice {number} is a {type(text).__name__}", construct="choices", hint="every choice must be a string")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise GrammarError(f"choice {number} holds half of a surrogate pair at character {error.start}", construct="choices") from None
        total += len(text) + 1
        if total > MAX_CHOICE_CHARACTERS:
            raise LimitError(
                f"the choices have more than {MAX_CHOICE_CHARACTERS:,} characters together", limit="choices", allowed=MAX_CHOICE_CHARACTERS
            )
        words[text] = None
    if not words:
        raise UnsatisfiableError("there is nothing to choose from", construct="choices", hint="give at least one text")
    return Rules("choices", {"choices": Text(Language.literals(list(words)))})
