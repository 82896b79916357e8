"""White space around JSON punctuation: four policies, each nine lexemes.

| policy     | what a model may write                                                                        |
|------------|-----------------------------------------------------------------------------------------------|
| `bounded`  | at most one space after `:` and `,`, or one newline and an indent; nothing after the value    |
| `flexible` | what RFC 8259 allows, without bound                                                           |
| `spaced`   | exactly what ``json.dumps`` writes                                                            |
| `compact`  | none                                                                                          |
"""

from __future__ import annotations

from functools import cache

from scansion._kernel import Language

__all__ = ["PUNCTUATION", "WHITESPACE_POLICIES", "around_root", "punctuation"]

WHITESPACE_POLICIES = ("bounded", "flexible", "spaced", "compact")

# Order of the kernel's nine punctuation lexemes; "spare" is unused by containers and carries the root's white space.
PUNCTUATION = (
    "object_open",
    "object_close_empty",
    "object_close",
    "colon",
    "comma",
    "array_open",
    "array_close_empty",
    "array_close",
    "spare",
)

_INDENT_SPACES = 64
_INDENT_TABS = 16


def _run() -> Language:
    """Any run of JSON white space: space, tab, CR, LF."""
    return Language.char_class([(9, 10), (13, 13), (32, 32)]).repeat(0, None)


def _indent() -> Language:
    """One newline and an indent of at most 64 spaces or 16 tabs."""
    spaces = Language.literal(" ").repeat(0, _INDENT_SPACES)
    tabs = Language.literal("\t").repeat(0, _INDENT_TABS)
    return Language.concat([Language.literal("\n"), Language.union([spaces, tabs])])


@cache
def punctuation(policy: str) -> tuple[Language, ...]:
    """The nine languages of a policy, in the order of ``PUNCTUATION``."""
    literal, empty = Language.literal, Language.empty()
    after_open = before_close = before_colon = before_comma = empty
    after_colon = after_comma = empty
    if policy == "flexible":
        after_open = before_close = before_colon = before_comma = after_colon = after_comma = _run()
    elif policy == "bounded":
        space = literal(" ")
        after_open = before_close = Language.union([empty, _indent()])
        after_colon = Language.union([empty, space])
        after_comma = Language.union([empty, space, _indent()])
    elif policy == "spaced":
        after_colon = after_comma = literal(" ")

    def mark(before: Language, text: str, after: Language) -> Language:
        return Language.concat([before, literal(text), after])

    return (
        mark(empty, "{", after_open),
        literal("}"),
        mark(before_close, "}", empty),
        mark(before_colon, ":", after_colon),
        mark(before_comma, ",", after_comma),
        mark(empty, "[", after_open),
        literal("]"),
        mark(before_close, "]", empty),
        around_root(policy) or empty,
    )


@cache
def around_root(policy: str) -> Language | None:
    """White space allowed before and after the whole value, or None where there is none."""
    return _run() if policy == "flexible" else None
