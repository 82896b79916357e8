"""What is said about a text that leaves its schema, and the schema as it is kept for that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from scansion.json_schema.options import SchemaOptions

__all__ = ["SchemaSource", "Violation", "instance_words"]


@dataclass(frozen=True)
class Violation:
    """Why a text is not one of a schema's.

    Attributes:
        offset: byte of the text at which it leaves the schema; the length of the text where it ends too early.
        instance: JSON pointer of the value concerned, ``""`` for the whole.
        requirement: what is asked of it, beginning with a verb.
        keyword: the schema's keyword that asks it; where no keyword does, the option (``property_order="declared"``) or ``unique keys``.
        pointer: JSON pointer of the keyword in the schema; None where no keyword asks.
        alternative_to: pointer of the ``anyOf`` or ``oneOf`` whose other schemas would do as well, or None.
    """

    offset: int
    instance: str
    requirement: str
    keyword: str
    pointer: str | None
    alternative_to: str | None = None

    def __str__(self) -> str:
        cause = f"`{self.pointer}`" if self.pointer is not None else self.keyword
        other = f"; or another schema of `{self.alternative_to}` must hold" if self.alternative_to is not None else ""
        return f"at byte {self.offset}: {instance_words(self.instance)} {self.requirement} ({cause}){other}"


class SchemaSource(NamedTuple):
    """A schema as it was compiled, kept beside the program for explanations.

    Attributes:
        schema: parsed JSON; options: how it was read.
    """

    schema: Any
    options: SchemaOptions

    def explain(self, text: bytes, offset: int) -> Violation | None:
        """Why a text that fits up to a byte does not fit there.

        Args:
            text: the text, whole or as far as it goes.
            offset: how many of its bytes fit; its length where it cannot end there.

        Returns:
            The reason, or None where none is found: the text is no JSON, breaks off, or is too large to look at.
        """
        from scansion.json_schema.explain import explain  # not needed to compile

        return explain(self, text, offset)


def instance_words(pointer: str) -> str:
    """A place of an instance, as sentences name it."""
    return f"`{pointer}`" if pointer else "the whole value"
