"""Where and why a text leaves its schema: byte offset, instance path, what is asked there, and the schema pointer that asks it.

The recogniser gives the offset. The value is then evaluated keyword by keyword (``evaluation``): the whole one where the text is JSON,
otherwise the beginning, closed the shortest way and with what was refused. Of what is found, that which is about the place of the offset
is the reason; where nothing is, the text breaks a policy (``whitespace``, ``property_order``, ``spelling``, ``integers``) or is no JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from scansion.errors import GrammarError, LimitError
from scansion.json_schema.documents import escape
from scansion.json_schema.evaluation import Evaluator, Finding, Path
from scansion.json_schema.json_prefix import JsonPrefix, leading_string
from scansion.json_schema.violation import SchemaSource, Violation, instance_words

__all__ = ["explain"]

_LOOKED_AHEAD = 4_096  # characters of a refused text that are taken as its meaning where it is not whole
_NO_MORE = "\ufdd0"  # a key nobody declares: what a further member is tried with
_SPACE = " \t\r\n"
# What a container breaks for good, whatever is written after.
_FINAL = frozenset(("maxProperties", "maxItems", "maxContains", "uniqueItems", "propertyNames", "not"))


def explain(source: SchemaSource, text: bytes, offset: int) -> Violation | None:
    """What ``SchemaSource.explain`` gives."""
    try:
        return _Explanation(source, text, offset).reason()
    except (LimitError, GrammarError, RecursionError):
        return None  # an explanation is a help, and what it cannot say the bytes expected still do


class _Explanation:
    """One refused text."""

    def __init__(self, source: SchemaSource, text: bytes, offset: int) -> None:
        self._source = source
        self._offset = offset
        # A refused byte may be inside a character: the whole character is what was refused.
        start = offset
        while start > 0 and offset < len(text) and text[start] & 0xC0 == 0x80:
            start -= 1
        self._prefix = JsonPrefix(text[:start].decode("utf-8", "ignore"))
        self._rest = text[start:].decode("utf-8", "replace")
        self._filled: Path | None = None  # where a null stands for what is not written yet
        self._whole = False
        self._value: Any = None
        self._has_value = False
        try:
            self._value = _parsed(text.decode())
            self._whole = self._has_value = True
        except ValueError:
            self._begin_value()

    def _begin_value(self) -> None:
        """Take as the value what the text has begun, with as much of what was refused as is JSON."""
        prefix = JsonPrefix("".join(self._prefix.text))
        taken = 0
        for character in self._rest[:_LOOKED_AHEAD]:
            if prefix.would_break(character):
                break
            prefix.feed(character)
            taken += 1
        if prefix.place == "broken" or (not taken and (self._rest or prefix.containers)):
            return  # no JSON, or a text that breaks off
        text, self._filled = prefix.closed(_NO_MORE)
        try:
            self._value = _parsed(text)
            self._has_value = True
        except ValueError:
            pass

    # The reason

    def reason(self) -> Violation | None:
        """The finding about the likeliest place, or the policy that is broken."""
        if self._prefix.place == "broken":
            return None
        twice = self._repeated_key()
        if twice is not None:
            return twice
        if self._has_value:
            findings = Evaluator(self._source.schema, self._source.options).findings(self._value)
            found = [item for item in _flatten(findings, 0, 0, None) if self._counts(item.finding)]
            places = self._places()
            for path in places:
                here = [item for item in found if item.finding.path == path]
                if here:
                    return self._violation(min(here, key=_Ranked.rank))
            if self._whole and found:
                return self._violation(min(found, key=lambda item: (-_common(item.finding.path, places[-1]), *item.rank())))
        return self._policy()

    def _counts(self, finding: Finding) -> bool:
        """Whether what is found cannot be mended by what is still to be written."""
        if self._whole:
            return True
        if finding.path == self._filled:
            return finding.requirement.startswith(("must not be there", "has a name"))
        if finding.keyword == "minLength" and self._prefix.place == "string" and not self._rest.startswith('"'):
            return False
        if finding.path == self._prefix.container and self._prefix.containers and not self._closes:
            return finding.keyword in _FINAL
        return True

    @property
    def _closes(self) -> bool:
        return self._rest.lstrip(_SPACE)[:1] in ("}", "]")

    def _places(self) -> list[Path]:
        """Paths of the values the refusal may be about, the likeliest first."""
        prefix, rest = self._prefix, self._rest.lstrip(_SPACE)
        place, container = prefix.place, prefix.container
        outer = [container] if prefix.containers else []
        if self._closes and place in ("key", "value"):
            return outer
        if place in ("key", "in key"):
            return [(*container, prefix.key_with(self._rest)), container]
        ended = place == "after" or (place in ("number", "literal") and rest[:1] in (",", "}", "]", ""))
        if not ended or not rest.startswith(",") or not prefix.containers:
            return [prefix.path, *outer]
        inner = prefix.containers[-1]
        following: str | int = (leading_string(rest[1:]) or _NO_MORE) if inner.is_object else inner.index + 1
        return [prefix.path, container, (*container, following)]

    def _violation(self, item: _Ranked) -> Violation:
        finding, path = item.finding, item.finding.path
        requirement = finding.requirement
        if path and path[-1] == _NO_MORE:
            path, requirement = path[:-1], "must have no further key"
        closest = min((branch for branch in finding.branches if branch), key=len, default=())
        if closest:
            first = closest[0]
            requirement += f"; the closest asks that {instance_words(_pointer(first.path))} {first.requirement} (`{first.pointer}`)"
        return Violation(self._offset, _pointer(path), requirement, finding.keyword, finding.pointer, item.alternative_to)

    # What no keyword asks

    def _repeated_key(self) -> Violation | None:
        prefix = self._prefix
        if prefix.place not in ("key", "in key") or self._closes:
            return None
        key = prefix.key_with(self._rest)
        if key not in prefix.containers[-1].keys:
            return None
        return Violation(self._offset, _pointer((*prefix.container, key)), "must not come twice", "unique keys", None)

    def _policy(self) -> Violation | None:
        """The option the text breaks; None where it seems to break none."""
        options, prefix, refused = self._source.options, self._prefix, self._rest[:1]
        if not refused:
            return None
        path = prefix.path
        if refused in _SPACE and prefix.place not in ("string", "in key"):
            return self._breaks("whitespace", options.whitespace, path, "must not have white space here")
        if not self._has_value:
            return None
        keyed = prefix.place in ("key", "in key")
        if options.spelling == "canonical" and (refused == "\\" or (keyed and "\\" in prefix.raw)):
            path = (*prefix.container, prefix.key_with(self._rest)) if keyed else path
            return self._breaks("spelling", options.spelling, path, "must be written without escapes")
        if prefix.place == "number" and refused in ".eE":
            if options.integers == "plain":
                return self._breaks("integers", options.integers, path, "must be written without fraction and exponent")
            return self._breaks("spelling", options.spelling, path, "must be written as a plain decimal")
        in_object = bool(prefix.containers) and prefix.containers[-1].is_object
        if options.property_order == "declared" and in_object and (keyed or refused == ","):
            key = prefix.key_with(self._rest) if keyed else leading_string(self._rest[1:])
            path = (*prefix.container, key) if key else prefix.container
            wanted = "must come in its place: keys are written in the order in which the schema names them"
            return self._breaks("property_order", options.property_order, path, wanted)
        return None

    def _breaks(self, option: str, value: str, path: Path, requirement: str) -> Violation:
        return Violation(self._offset, _pointer(path), requirement, f'{option}="{value}"', None)


@dataclass(frozen=True)
class _Ranked:
    """A finding, how many ``anyOf`` and ``oneOf`` it is inside, how much else its branch finds wrong, and the innermost of those."""

    finding: Finding
    nesting: int
    others: int
    alternative_to: str | None

    def rank(self) -> tuple[int, int]:
        return self.nesting, self.others


def _flatten(findings: Sequence[Finding], nesting: int, others: int, alternative_to: str | None) -> Iterator[_Ranked]:
    for finding in findings:
        yield _Ranked(finding, nesting, others, alternative_to)
        for branch in finding.branches:
            yield from _flatten(branch, nesting + 1, others + len(branch), finding.pointer)


def _parsed(text: str) -> Any:
    """The JSON value of a text.

    Raises:
        ValueError: it has none, or a key comes twice.
    """
    return json.loads(text, parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_object)


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key comes twice")
    return value


def _pointer(path: Path) -> str:
    return "".join(f"/{escape(step) if isinstance(step, str) else step}" for step in path)


def _common(left: Path, right: Path) -> int:
    """How many steps two paths share from the root."""
    count = 0
    for one, two in zip(left, right, strict=False):
        if one != two:
            break
        count += 1
    return count
