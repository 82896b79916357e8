"""Writing ABNF rules as languages: a rule is a regular expression in text, or put together from other rules."""

from __future__ import annotations

from scansion._kernel import Language
from scansion.languages.regex import parse_ecma

__all__ = ["Rule", "at_most", "either", "list_of", "optional", "repeated", "rule", "sequence"]

Rule = str | Language
"""An ECMA-262 pattern that matches the whole text, or a language."""

_ANY_CHARACTER = Language.char_class([(0, 0x10FFFF)])


def rule(written: Rule) -> Language:
    """The language of a rule."""
    return parse_ecma(written, search=False) if isinstance(written, str) else written


def sequence(*parts: Rule) -> Language:
    """One after the other."""
    return Language.concat([rule(part) for part in parts])


def either(*options: Rule) -> Language:
    """Any one of them."""
    return Language.union([rule(option) for option in options])


def optional(part: Rule) -> Language:
    """ABNF's ``[part]``."""
    return rule(part).repeat(0, 1)


def repeated(part: Rule, low: int = 0, high: int | None = None) -> Language:
    """ABNF's ``low*high part``."""
    return rule(part).repeat(low, high)


def list_of(item: Rule, separator: Rule) -> Language:
    """At least one item, separators between them."""
    return sequence(item, repeated(sequence(separator, item)))


def at_most(length: int, language: Language) -> Language:
    """The words of no more than ``length`` code points."""
    return Language.intersection([language, _ANY_CHARACTER.repeat(0, length)])
