"""What a Lark text says, as trees: items of the file, and the expressions in them, each with its offset in the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from scansion.languages.lark_parameters import Condition, Parameter

__all__ = [
    "Alternatives",
    "Both",
    "CharacterRange",
    "Definition",
    "Import",
    "JsonSchema",
    "LarkFile",
    "Name",
    "NestedGrammar",
    "Not",
    "Pattern",
    "Repeated",
    "Sequence",
    "SpecialToken",
    "String",
    "StructuredRegex",
    "Tree",
]


@dataclass(frozen=True, slots=True)
class Name:
    name: str
    offset: int
    parameter: Parameter | None = None


@dataclass(frozen=True, slots=True)
class String:
    text: str
    ignore_case: bool
    offset: int


@dataclass(frozen=True, slots=True)
class Pattern:
    pattern: str
    flags: str
    offset: int


@dataclass(frozen=True, slots=True)
class CharacterRange:
    first: str
    last: str
    offset: int


@dataclass(frozen=True, slots=True)
class SpecialToken:
    text: str
    offset: int


@dataclass(frozen=True, slots=True)
class NestedGrammar:
    name: str
    offset: int


@dataclass(frozen=True, slots=True)
class JsonSchema:
    schema: str
    offset: int


@dataclass(frozen=True, slots=True)
class StructuredRegex:
    value: Any
    offset: int


@dataclass(frozen=True, slots=True)
class Not:
    body: Tree
    offset: int


@dataclass(frozen=True, slots=True)
class Repeated:
    body: Tree
    low: int
    high: int | None
    offset: int


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple[Tree, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Both:
    parts: tuple[Tree, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Alternatives:
    parts: tuple[tuple[Tree, Condition | None], ...]
    offset: int


Tree = (
    Name
    | String
    | Pattern
    | CharacterRange
    | SpecialToken
    | NestedGrammar
    | JsonSchema
    | StructuredRegex
    | Not
    | Repeated
    | Sequence
    | Both
    | Alternatives
)


@dataclass(slots=True)
class Definition:
    """A rule or a terminal. ``attributes`` are those in square brackets; a value is a tree, a number or None."""

    name: str
    offset: int
    body: Tree
    parametric: bool = False
    attributes: dict[str, Tree | float | None] = field(default_factory=dict)

    @property
    def max_tokens(self) -> int | None:
        value = self.attributes.get("max_tokens")
        return int(value) if isinstance(value, (int, float)) else None

    @property
    def stop(self) -> Tree | None:
        """What ends the rule, in ``stop`` or ``suffix``; ``stop=""`` is the end of the answer, which ends any rule."""
        value = self.attributes.get("suffix", self.attributes.get("stop"))
        if value is None or isinstance(value, float) or (isinstance(value, String) and not value.text):
            return None
        return value


@dataclass(frozen=True, slots=True)
class Import:
    name: str  # with its path: common.INT
    alias: str
    offset: int


@dataclass(slots=True)
class LarkFile:
    definitions: list[Definition] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    ignored: list[Tree] = field(default_factory=list)
    options: list[tuple[Any, int]] = field(default_factory=list)
    references: list[tuple[str, int]] = field(default_factory=list)  # of @name, each as often as it stands there
