"""Objects and arrays against their definition: every small text, accepted or not, and no prefix that leads nowhere."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
from tests.kernel.walks import byte_vocabulary
from tests.oracles.program_recogniser import accepts

from scansion._kernel import ARRAY, OBJECT, TEXT, Constraint, Language, Matcher
from scansion.program import ProgramBuilder, ProgramData

VOCABULARY = byte_vocabulary()
NAMES = ["a", "b", "c", "d"]
EXTRA = ["e", "ff"]


def digit_rule(builder: ProgramBuilder, digit: str) -> int:
    rule = builder.new_rule()
    builder.set_rule(rule, builder.lex(Language.literal(digit), TEXT))
    return rule


def random_condition(draw: random.Random, builder: ProgramBuilder, events: int) -> int:
    """A diagram of a random truth table, tested by its own construction: true for at least one set of events."""
    table = [draw.random() < draw.choice([0.3, 0.6]) for _ in range(1 << events)]
    table[draw.randrange(1 << events)] = True

    def build(event: int, rows: Sequence[bool]) -> int:
        if event == events:
            return int(rows[0])
        # Rows with the event false come first.
        return builder.condition(event, build(event + 1, rows[: len(rows) // 2]), build(event + 1, rows[len(rows) // 2 :]))

    return build(0, table)


@dataclass(frozen=True)
class Features:
    """What random objects may have."""

    conditions: bool = False
    judged: bool = False  # values raise events too
    free_spelling: bool = False


def random_object(draw: random.Random, features: Features) -> ProgramData:
    """An object of up to four keys and perhaps others, with bounds and a condition on keys and on what their values matched."""
    builder = ProgramBuilder(whitespace="compact", canonical_keys=not features.free_spelling)
    one, two = digit_rule(builder, "1"), digit_rule(builder, "2")
    count = draw.randint(1, 4)
    ways = ((one, (count,)), (two, (count + 1,))) if features.judged else ((one, ()), (two, ()))
    properties = []
    for name in NAMES[:count]:
        value = -1 if draw.random() < 0.15 else draw.choice([ways, one])
        properties.append((name, value, value != -1 and draw.random() < 0.25))
    groups = [(Language.char_class([(101, 102)]).repeat(1), draw.choice([ways, two]))] if draw.random() < 0.5 else []
    raised = features.judged and any(value == ways for _, value, *_ in [*properties, *(("", *group) for group in groups)])
    condition = random_condition(draw, builder, count + 2 * raised) if features.conditions else -1
    spec = builder.object(draw.choice([0, 1]), properties, groups, draw.choice([0, 0, 1, 2, 3]), draw.choice([-1, -1, 2, 3]), condition)
    root = builder.new_rule()
    builder.set_rule(root, builder.node(OBJECT, spec, builder.ret))
    return builder.finish(root)


OBJECTS = [
    "{" + ",".join(f'"{key}":{value}' for key, value in zip(keys, values, strict=True)) + "}"
    for length in range(4)
    for keys in itertools.permutations([*NAMES, *EXTRA], length)
    for values in itertools.product("12", repeat=length)
]


def check_acceptance(program: ProgramData, texts: Sequence[str]) -> list[str]:
    """Compares what is accepted among ``texts``, and returns that."""
    constraint = Constraint(program.kernel(), VOCABULARY)
    good = [text for text in texts if accepts(program, text)]
    whole = set(good)
    for text in texts:
        matcher = Matcher(constraint)
        assert (matcher.accept_bytes(text.encode()) and matcher.is_complete) == (text in whole), text
    return good


def check_completions(program: ProgramData, texts: Sequence[str], good: Sequence[str]) -> None:
    """Every prefix of ``texts`` that the kernel takes is finished by ``shortest_completion``, into a text the recogniser accepts
    and that is no longer than the shortest of ``good`` that goes on so."""
    constraint = Constraint(program.kernel(), VOCABULARY)
    prefixes = {text[:end] for text in texts for end in range(len(text))}
    for prefix in sorted(prefixes):
        matcher = Matcher(constraint)
        if prefix and not matcher.accept_bytes(prefix.encode()):
            assert not any(text.startswith(prefix) for text in good), prefix
            continue
        completion = matcher.shortest_completion()
        assert completion is not None, f"{prefix} cannot be finished"
        assert accepts(program, prefix + completion.decode()), (prefix, completion)
        shortest = min((len(text) for text in good if text.startswith(prefix)), default=1000)
        assert len(prefix) + len(completion) <= shortest, (prefix, completion)


FEATURES = {
    "plain": Features(),
    "free spelling": Features(free_spelling=True),
    "conditions": Features(conditions=True),
    "judged values": Features(conditions=True, judged=True, free_spelling=True),
}


@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES)
def test_objects_are_what_their_spec_says(features: Features, rounds: Callable[[int], int]) -> None:
    draw = random.Random(1)
    accepted = 0
    for _ in range(rounds(60)):
        accepted += len(check_acceptance(random_object(draw, features), draw.sample(OBJECTS, 300) + OBJECTS[:25]))
    assert accepted > 200


@pytest.mark.parametrize(
    "features",
    [
        FEATURES["plain"],
        FEATURES["free spelling"],
        FEATURES["conditions"],
        FEATURES["judged values"],
    ],
    ids=FEATURES,
)
def test_objects_can_always_be_finished(features: Features, rounds: Callable[[int], int]) -> None:
    for seed in range(rounds(25)):
        program = random_object(random.Random(seed), features)
        texts = OBJECTS[::5] + OBJECTS[:20]
        good = [text for text in OBJECTS if accepts(program, text)]
        if good:
            check_completions(program, texts, good)


def random_array(draw: random.Random) -> ProgramData:
    """An array with a prefix, bounds and counters that its items raise."""
    builder = ProgramBuilder(whitespace="compact")
    rules = [digit_rule(builder, digit) for digit in "012"]
    counters = [(draw.randint(0, 2), draw.choice([-1, 2, 3])) for _ in range(draw.randint(0, 2))]
    counters = [(min(low, high) if high >= 0 else low, high) for low, high in counters]

    def value() -> tuple[tuple[int, tuple[int, ...]], ...]:
        return tuple(
            (rule, tuple(c for c in range(len(counters)) if draw.random() < 0.5)) for rule in draw.sample(rules, draw.randint(1, 3))
        )

    prefix = [value() for _ in range(draw.randint(0, 2))]
    rest = value() if draw.random() < 0.8 else -1
    spec = builder.array(prefix, rest, draw.randint(0, 3), draw.choice([-1, 3, 4]), draw.random() < 0.3, counters)
    root = builder.new_rule()
    builder.set_rule(root, builder.node(ARRAY, spec, builder.ret))
    return builder.finish(root)


ARRAYS = ["[" + ",".join(items) + "]" for length in range(6) for items in itertools.product("012", repeat=length)]


def test_arrays_are_what_their_spec_says(rounds: Callable[[int], int]) -> None:
    accepted = 0
    for seed in range(rounds(60)):
        program = random_array(random.Random(seed))
        good = check_acceptance(program, ARRAYS)
        if good:  # front ends refuse empty ones
            check_completions(program, ARRAYS[:100], good)
        accepted += len(good)
    assert accepted > 500


def test_a_second_item_is_found_among_bytes_of_one_class() -> None:
    builder = ProgramBuilder(whitespace="compact")
    item, root = builder.new_rule(), builder.new_rule()
    builder.set_rule(item, builder.lex(Language.literals(["1", "2", "3"]), TEXT))
    builder.set_rule(root, builder.node(ARRAY, builder.array([], item, 2, -1, True), builder.ret))
    matcher = Matcher(Constraint(builder.finish(root).kernel(), VOCABULARY))
    assert matcher.shortest_completion() in {b"[1,2]", b"[1,3]", b"[2,1]", b"[2,3]", b"[3,1]", b"[3,2]"}


def test_a_second_key_is_found_among_bytes_of_one_class() -> None:
    builder = ProgramBuilder(whitespace="compact")
    item, root = builder.new_rule(), builder.new_rule()
    builder.set_rule(item, builder.lex(Language.literal("1"), TEXT))
    spec = builder.object(0, [], [(Language.char_class([(97, 122)]).repeat(1), item)], 2)
    builder.set_rule(root, builder.node(OBJECT, spec, builder.ret))
    matcher = Matcher(Constraint(builder.finish(root).kernel(), VOCABULARY))
    assert len(matcher.shortest_completion() or b"") == len(b'{"a":1,"b":1}')


def test_no_key_that_wants_two_alternatives_of_one_value() -> None:
    """``a`` may come only if ``b`` matches both of its alternatives, which exclude each other."""
    builder = ProgramBuilder(whitespace="compact")
    one, two = digit_rule(builder, "1"), digit_rule(builder, "2")
    both = builder.condition(2, 0, builder.condition(3, 0, 1))
    spec = builder.object(1, [("a", one, False), ("b", ((one, (2,)), (two, (3,))), True)], [], 0, -1, builder.condition(0, 1, both))
    root = builder.new_rule()
    builder.set_rule(root, builder.node(OBJECT, spec, builder.ret))
    matcher = Matcher(Constraint(builder.finish(root).kernel(), VOCABULARY))
    assert matcher.accept_bytes(b'{"b":1}')
    matcher.reset()
    assert not matcher.accept_bytes(b'{"a"')


def test_an_event_that_no_value_raises_is_false() -> None:
    builder = ProgramBuilder(whitespace="compact")
    one = digit_rule(builder, "1")
    spec = builder.object(1, [("a", one, False)], [], 0, -1, builder.condition(0, 1, builder.condition(1, 0, 1)))
    root = builder.new_rule()
    builder.set_rule(root, builder.node(OBJECT, spec, builder.ret))
    matcher = Matcher(Constraint(builder.finish(root).kernel(), VOCABULARY))
    assert matcher.accept_bytes(b"{}")
    matcher.reset()
    assert not matcher.accept_bytes(b'{"a"')
