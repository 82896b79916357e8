"""Regular expressions in, regular languages out: the one place where front ends read a pattern.

>>> parse_ecma("^[a-z]{2}$").words(3) is None
True
>>> parse_python("ab?").words(3)
['a', 'ab']
"""

from __future__ import annotations

import functools

from scansion._kernel import Language
from scansion.languages.regex_parser import parse_ecma_tree, parse_python_tree
from scansion.languages.regex_to_language import language_of

__all__ = ["parse_ecma", "parse_ecma_tree", "parse_python", "parse_python_tree"]


@functools.lru_cache(maxsize=8192)
def parse_ecma(pattern: str, *, search: bool = True) -> Language:
    """The texts an ECMA-262 pattern accepts, as JSON Schema's ``pattern`` means it: a search, with the ``u`` flag.

    Args:
        pattern: without slashes and flags.
        search: False asks for a match of the whole text.

    Raises:
        GrammarError: not a pattern. UnsupportedError: not regular (back-references). Both with ``offset`` and ``construct``.
        LimitError: a bound of `regex_parser` or `regex_to_automaton` was met.
    """
    return language_of(parse_ecma_tree(pattern), search=search)


@functools.lru_cache(maxsize=8192)
def parse_python(pattern: str, *, flags: str = "", search: bool = False, rust: bool = False) -> Language:
    """The texts a pattern in Python's or Rust's spelling matches, as a whole unless ``search``.

    Args:
        pattern: may begin with inline flags, ``(?i)``.
        flags: letters out of ``imsxau`` as if so written.
        search: True asks for a match anywhere inside.
        rust: ``\\w``, ``\\s`` and ``\\b`` as Rust means them, not Python.

    Raises: as `parse_ecma`.
    """
    return language_of(parse_python_tree(pattern, flags, rust=rust), search=search)
