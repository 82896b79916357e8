"""Free text that switches into a constrained region at a trigger, and back: how many models are taught to call tools.

    I will look that up. <tool_call>{"name": "search", "arguments": {"q": "metre"}}</tool_call> One moment.

Outside the regions a model may write anything except a trigger: whenever what it wrote since the last region ends in one,
a tag that begins with it must follow. So no trigger is ever left unserved; one that began inside a region is none, as for a
reader who looks for the next trigger from the end of a region on.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scansion._kernel import Language
from scansion.errors import GrammarError, LimitError, UnsatisfiableError
from scansion.grammar.embed import embed
from scansion.grammar.nodes import Call, Expression, JsonValue, Rules, Text, choice, repeat, seq

__all__ = ["MAX_TAGS", "StructuralTag", "structural_tags"]

MAX_TAGS = 10_000
MAX_BEGIN = 1_000
_ANY_CHARACTER = Language.char_class([(0, 0xD7FF), (0xE000, 0x10FFFF)])


@dataclass(frozen=True)
class StructuralTag:
    """A constrained region.

    Attributes:
        begin: the text that opens it; its beginning is the trigger.
        content: what it holds: a JSON Schema (a mapping, a boolean, or JSON text) or the rules of another grammar.
        end: the text that closes it.
    """

    begin: str
    content: Mapping[str, object] | bool | str | Rules
    end: str = ""


def structural_tags(
    tags: Sequence[StructuralTag],
    *,
    triggers: Sequence[str] | None = None,
    at_least_one: bool = False,
    stop_after_first: bool = False,
) -> Rules:
    """A grammar of free text with tagged regions.

    Args:
        tags: the regions a model may open, in any order and number.
        triggers: texts that must open a region once written; each is the beginning of some tag, each tag begins with one.
            None: the whole ``begin`` of each tag.
        at_least_one: the text has at least one region.
        stop_after_first: the text ends with its first region.

    Raises:
        GrammarError: an empty trigger, a trigger no tag begins with, a tag no trigger begins.
        UnsatisfiableError: no tags, where one is asked for.
        LimitError: more than ``MAX_TAGS`` tags, or one whose ``begin`` is longer than ``MAX_BEGIN`` characters.
    """
    if len(tags) > MAX_TAGS:
        raise LimitError(f"there are {len(tags):,} structural tags; at most {MAX_TAGS:,} are taken", limit="tags", allowed=MAX_TAGS)
    if any(len(tag.begin) > MAX_BEGIN for tag in tags):
        raise LimitError(f"a structural tag begins with more than {MAX_BEGIN:,} characters", limit="tag_begin", allowed=MAX_BEGIN)
    if not tags and at_least_one:
        raise UnsatisfiableError("a structural tag is asked for and none is defined", construct="structural_tags")
    chosen = list(dict.fromkeys(tag.begin for tag in tags) if triggers is None else dict.fromkeys(triggers))
    _check(tags, chosen)
    anything = Language.anything()
    with_trigger = Language.concat([anything, Language.literals(chosen), anything]) if chosen else Language.nothing()
    free = Text(with_trigger.complement())
    bodies: dict[str, Expression] = {}
    places = sorted({len(trigger) for trigger in chosen})
    endings = {trigger[start:] for trigger in chosen for start in range(1, len(trigger))}
    together: list[tuple[str, Expression]] = []  # regions whose trigger needs no look at the text before it
    regions: list[Expression] = []
    known = set(chosen)
    opened: dict[str, list[tuple[str, Expression]]] = {trigger: [] for trigger in chosen}
    for number, tag in enumerate(tags):
        inside = seq([_content(tag, f"tag-{number}", bodies), Text(Language.literal(tag.end))])
        for length in places:
            if tag.begin[:length] in known:
                opened[tag.begin[:length]].append((tag.begin, inside))
    for trigger, ways in opened.items():
        if any(trigger[start : start + length] in known for length in places for start in range(len(trigger) - length)):
            continue  # it holds another trigger, which is always served before it
        if not any(trigger[:length] in endings for length in range(1, len(trigger))):
            together += ways
            continue
        # Another trigger could end in its midst, begun by the text before.
        too_late = Language.concat([with_trigger, _ANY_CHARACTER]).complement()
        up_to_trigger = Text(Language.intersection([Language.concat([anything, Language.literal(trigger)]), too_late]))
        regions.append(seq([up_to_trigger, _by_beginnings([(begin[len(trigger) :], inside) for begin, inside in ways], bodies)]))
    if together:
        regions.append(seq([free, _by_beginnings(together, bodies)]))
    region = choice(regions)
    if stop_after_first:
        start = region if at_least_one else choice([region, free])
    else:
        start = seq([repeat(region, 1 if at_least_one else 0, None), free])
    return Rules("text", {"text": start, **bodies})


def _by_beginnings(ways: list[tuple[str, Expression]], bodies: dict[str, Expression]) -> Expression:
    """Texts with what follows each, beginnings in common written once: thousands of tags are one way on, not thousands, while
    none has begun. A rule at each fork."""
    ordered = sorted(ways, key=lambda way: way[0])
    tops: list[Expression] = []
    # A group is a run of ways that agree up to ``depth``; it goes on as one literal up to where they fork.
    todo: list[tuple[int, int, int, list[Expression]]] = [(0, len(ordered), 0, tops)]
    forks: list[tuple[str, list[Expression]]] = []
    while todo:
        first, end, depth, out = todo.pop()
        while first < end and len(ordered[first][0]) == depth:
            out.append(ordered[first][1])
            first += 1
        while first < end:
            character = ordered[first][0][depth]
            last = bisect_right(ordered, character, first, end, key=lambda way: way[0][depth])
            if last == first + 1:
                out.append(seq([Text(Language.literal(ordered[first][0][depth:])), ordered[first][1]]))
            else:
                common = _common_length(ordered[first][0], ordered[last - 1][0])
                name = f"tags:{len(bodies) + len(forks)}"
                following: list[Expression] = []
                forks.append((name, following))
                out.append(seq([Text(Language.literal(ordered[first][0][depth:common])), Call(name)]))
                todo.append((first, last, common, following))
            first = last
    bodies.update((name, choice(following)) for name, following in forks)
    return choice(tops)


def _common_length(first: str, second: str) -> int:
    pairs = enumerate(zip(first, second, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(first), len(second)))


def _check(tags: Sequence[StructuralTag], triggers: Sequence[str]) -> None:
    for trigger in triggers:
        if not isinstance(trigger, str) or not trigger:
            raise GrammarError("a trigger must be a text of at least one character", construct="triggers", hint="give the tag a `begin`")
    known = set(triggers)
    lengths = set(map(len, triggers))
    served: set[str] = set()
    for tag in tags:
        begun = {tag.begin[:length] for length in lengths} & known
        if not begun:
            raise GrammarError(f"the tag that begins with {tag.begin!r} begins with no trigger", construct="triggers")
        served |= begun
    for trigger in triggers:
        if trigger not in served:
            raise GrammarError(f"no tag begins with the trigger {trigger!r}", construct="triggers")


def _content(tag: StructuralTag, prefix: str, bodies: dict[str, Expression]) -> Expression:
    if isinstance(tag.content, Rules):
        start, inner = embed(tag.content, prefix)
        bodies.update(inner)
        return start
    schema = tag.content if isinstance(tag.content, str) else json.dumps(tag.content)
    return JsonValue(schema)
