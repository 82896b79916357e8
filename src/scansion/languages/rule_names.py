"""Names for rules that converters write."""

from __future__ import annotations

import re

__all__ = ["RuleNames", "readable_name"]

_LONGEST = 40  # characters
_STRUCTURE = frozenset({"", "properties", "items", "$defs", "definitions"})  # parts of pointers that every schema has


def readable_name(label: str) -> str:
    """A rule name out of a label: the last telling parts of a JSON pointer, or the name itself, in lower case and dashes.

    Labels of scalars say in words after the pointer what is asked of them, which is no part of a name. Of long names, as
    of definitions named by a whole address, the end tells more than the beginning.
    """
    parts = [part for part in label.partition(" must be ")[0].split("/") if part not in _STRUCTURE]
    name = re.sub(r"[^a-z0-9]+", "-", "-".join(parts[-2:]).lower()).strip("-")
    if len(name) > _LONGEST:
        name = name[-_LONGEST:].partition("-")[2] or name[-_LONGEST:]
    if not name:
        return "value"
    return name if name[0].isalpha() else f"rule-{name}"


class RuleNames:
    """Hands out names that differ."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def fresh(self, hint: str) -> str:
        """The hint, or where it is taken the hint with a number."""
        name = hint
        while name in self._taken:
            self._taken[hint] += 1
            name = f"{hint}-{self._taken[hint]}"
        self._taken[name] = 1
        return name
