"""Stage 2: the public ``Grammar`` value, the representation of grammar languages, and the passes on it."""

from scansion.grammar.grammar import Grammar

__all__ = ["Grammar"]
