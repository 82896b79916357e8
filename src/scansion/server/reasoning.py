"""Reasoning before a constrained answer, where an upstream's grammar has to hold both."""

from __future__ import annotations

import re

__all__ = ["THINK_CLOSE", "ReasoningSplit", "after_reasoning"]

THINK_OPEN = "<think>"
THINK_CLOSE = "</think>"
_ANSWER = "answer-after-reasoning"
_THOUGHT = "thought"
# A name, or what may hold a name that is none: a literal, a class, a comment.
_PIECES = re.compile(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|#[^\n]*|[A-Za-z][A-Za-z0-9-]*')


def after_reasoning(gbnf: str) -> str:
    """GBNF of free text up to ``</think>``, some white space, then the given grammar.

    Args:
        gbnf: a grammar whose start is ``root``.
    """
    names = {piece for piece in _PIECES.findall(gbnf) if piece[0].isalpha()}
    answer, thought = _fresh(_ANSWER, names), _fresh(_THOUGHT, names)
    renamed = _PIECES.sub(lambda match: answer if match.group() == "root" else match.group(), gbnf)
    lines = [f'root ::= {thought}-0 "{THINK_CLOSE}" [ \\n]{{0,4}} {answer}']
    # One rule for each length of a beginning of the mark that has just been read (Knuth, Morris and Pratt, 1977).
    for length, character in enumerate(THINK_CLOSE):
        ways = [f"[^{character}<] {thought}-0" if character != "<" else f"[^<] {thought}-0"]
        if length + 1 < len(THINK_CLOSE):
            ways.append(f'"{character}" {thought}-{length + 1}')
        if character != "<":
            ways.append(f'"<" {thought}-1')
        lines.append(f'{thought}-{length} ::= {" | ".join(ways)} | ""')
    return "\n".join([*lines, renamed])


class ReasoningSplit:
    """Tells reasoning from answer in a text that comes in pieces, also where both meet in one."""

    def __init__(self) -> None:
        self._held = ""
        self._opened = False
        self._begun = False
        self._leading = True
        self.closed = False

    def feed(self, text: str) -> tuple[str, str]:
        """The next piece as (reasoning, answer)."""
        if self.closed:
            return "", self._answer(text)
        self._held += text
        if not self._opened:
            start = self._held.lstrip()
            if THINK_OPEN.startswith(start) and start != THINK_OPEN:
                return "", ""
            self._opened = True
            if start.startswith(THINK_OPEN):
                self._held = start[len(THINK_OPEN) :]
        if not self._begun:
            self._held = self._held.lstrip("\n")
            self._begun = bool(self._held)
        place = self._held.find(THINK_CLOSE)
        if place >= 0:
            reasoning, rest = self._held[:place], self._held[place + len(THINK_CLOSE) :]
            self.closed = True
            self._held = ""
            return reasoning, self._answer(rest)
        keep = next((n for n in range(min(len(THINK_CLOSE) - 1, len(self._held)), 0, -1) if THINK_CLOSE.startswith(self._held[-n:])), 0)
        cut = len(self._held) - keep
        reasoning, self._held = self._held[:cut], self._held[cut:]
        return reasoning, ""

    def finish(self) -> str:
        """Reasoning that was held back, when nothing more comes."""
        held, self._held = self._held, ""
        return "" if self.closed else held

    def _answer(self, text: str) -> str:
        if self._leading:
            text = text.lstrip(" \n")
            self._leading = not text
        return text


def _fresh(name: str, names: set[str]) -> str:
    while any(taken.startswith(name) for taken in names):
        name += "-x"
    return name
