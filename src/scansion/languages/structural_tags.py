"""Free text that switches into a constrained region at a trigger, and back: how many models are taught to call tools.

    I will look that up. <tool_call>{"name": "search", "arguments": {"q": "metre"}}</tool_call> One moment.

Outside the regions a model may write anything except a trigger: whenever the text ends in one, a tag that begins with it
must follow. So no trigger is ever left unserved, also not one that is completed by what a region left behind.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scansion._kernel import Language
from scansion.errors import GrammarError, LimitError, UnsatisfiableError
from scansion.grammar.embed import embed
from scansion.grammar.nodes import Expression, JsonValue, Rules, Text, choice, repeat, seq

__all__ = ["MAX_TAGS", "StructuralTag", "structural_tags"]

MAX_TAGS = 10_000


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
        LimitError: more than ``MAX_TAGS`` tags.
    """
    if len(tags) > MAX_TAGS:
        raise LimitError(f"there are {len(tags):,} structural tags; at most {MAX_TAGS:,} are taken", limit="tags", allowed=MAX_TAGS)
    if not tags and at_least_one:
        raise UnsatisfiableError("a structural tag is asked for and none is defined", construct="structural_tags")
    chosen = list(dict.fromkeys(tag.begin for tag in tags) if triggers is None else dict.fromkeys(triggers))
    _check(tags, chosen)
    any_character = Language.char_class([(0, 0xD7FF), (0xE000, 0x10FFFF)])
    anything = Language.anything()
    served = Language.concat([anything, Language.literals(chosen)]) if chosen else Language.nothing()
    with_trigger = Language.concat([served, anything])
    free = Text(with_trigger.complement())
    too_late = Language.concat([with_trigger, any_character]).complement()  # no trigger ends before the last character
    bodies: dict[str, Expression] = {}
    regions: list[Expression] = []
    for tag_number, tag in enumerate(tags):
        bodies[f"tag-{tag_number}"] = seq([_content(tag, f"tag-{tag_number}", bodies), Text(Language.literal(tag.end))])
    for trigger in chosen:
        up_to_trigger = Language.intersection([Language.concat([anything, Language.literal(trigger)]), too_late])
        opened = [
            seq([Text(Language.literal(tag.begin[len(trigger) :])), bodies[f"tag-{number}"]])
            for number, tag in enumerate(tags)
            if tag.begin.startswith(trigger)
        ]
        if not up_to_trigger.is_nothing:  # a trigger that holds another one is always served as that one
            regions.append(seq([Text(up_to_trigger), choice(opened)]))
    region = choice(regions)
    if stop_after_first:
        start = region if at_least_one else choice([region, free])
    else:
        start = seq([repeat(region, 1 if at_least_one else 0, None), free])
    return Rules("text", {"text": start, **{name: body for name, body in bodies.items() if ":" in name}})


def _check(tags: Sequence[StructuralTag], triggers: Sequence[str]) -> None:
    for trigger in triggers:
        if not isinstance(trigger, str) or not trigger:
            raise GrammarError("a trigger must be a text of at least one character", construct="triggers", hint="give the tag a `begin`")
        if not any(tag.begin.startswith(trigger) for tag in tags):
            raise GrammarError(f"no tag begins with the trigger {trigger!r}", construct="triggers")
    for tag in tags:
        if not any(tag.begin.startswith(trigger) for trigger in triggers):
            raise GrammarError(f"the tag that begins with {tag.begin!r} begins with no trigger", construct="triggers")


def _content(tag: StructuralTag, prefix: str, bodies: dict[str, Expression]) -> Expression:
    if isinstance(tag.content, Rules):
        start, inner = embed(tag.content, prefix)
        bodies.update(inner)
        return start
    schema = tag.content if isinstance(tag.content, str) else json.dumps(tag.content)
    return JsonValue(schema)
