"""Objects whose places no token tells apart share masks: that must stop as soon as some token does tell them apart.

The vocabularies here are gentle, so that places are folded, and differ in a few tokens that reach from one member into the next.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from tests.kernel.walks import allowed_one_by_one, byte_vocabulary, check_masks_on_a_walk, mask_of

from scansion._kernel import ARRAY, JSON_STRING, OBJECT, TEXT, Constraint, Language, Matcher
from scansion.program import ProgramBuilder, ProgramData

_ORDINARY = [
    *(b'"}', b"}}", b'":', b'": ', b'": "', b'","', b'", "', b"],", b'"}, ', b" ", b"  ", b'{"', b"12", b"3,", b"true", b"})"),
    *(b"na", b"name", b"am", b"ame", b"me", b"ab", b"de", b"id", b"xy"),
]
# Past a comma into a key, past the quote of a key, to the end of one, and on.
_REACHING = [
    *(b',"n', b', "na', b',"%', b',"\\', b',"name"', b',"id":', b', "ab": 1', b',"":1', b'1,"a', b'","b', b'"},"d', b',"\\u0061'),
    *(b'"n', b'"na', b'"name', b'"a"', b'"ab":', b'"id":1', b'""', b' "n', b' "a":', b'\n"ab"', b' "', b'"\\u', b'"%"'),
    *(b'e"', b'me":', b'd": "', b'b":1', b'a"', b'":"a', b'":1,"', b'x":{', b'"}}', b"1}}"),
]
_KEYS = ["name", "na", "nab", "ab", "a", "b", "id", "xy", "xyde", "%", "", "a\\", "é"]


def objects(draw: random.Random) -> ProgramData:
    """Records of records, many of one shape, some open, some with bounds, an order of keys free or not."""
    builder = ProgramBuilder(whitespace=draw.choice(["flexible", "compact", "flexible"]), canonical_keys=draw.random() < 0.9)
    leaves = []
    for node in (
        builder.lex(Language.anything(), JSON_STRING),
        builder.lex(Language.char_class([(48, 57)]).repeat(1), TEXT),
        builder.alt([builder.lex(Language.anything(), JSON_STRING), builder.lex(Language.literals(["true", "null"]), TEXT)]),
        builder.lex(Language.literals(["ab", "name", "x"]), JSON_STRING),
    ):
        leaves.append(builder.new_rule())
        builder.set_rule(leaves[-1], node)
    values = list(leaves)
    for _ in range(draw.randint(2, 4)):
        keys = draw.sample(_KEYS, draw.randint(0, 6))
        groups = []
        if draw.random() < 0.5:
            groups = [(draw.choice([Language.anything(), Language.literals(["c", "na", "q", "id"])]), draw.choice(values))]
        spec = builder.object(
            draw.choice([0, 0, 1]),  # any order of keys
            [(key, draw.choice(values), draw.random() < 0.4) for key in keys],
            groups,
            0,
            draw.choice([-1, -1, -1, max(3, len(keys))]),
        )
        rule = builder.new_rule()
        ways = [builder.node(OBJECT, spec, builder.ret)]
        if draw.random() < 0.3:
            ways.append(builder.lex(Language.literals(["null"]), TEXT))
        if draw.random() < 0.3:
            ways.append(builder.node(ARRAY, builder.array([], draw.choice(values), 0, draw.choice([-1, 2])), builder.ret))
        builder.set_rule(rule, builder.alt(ways))
        values += [rule, rule]
    return builder.finish(builder.json_root(values[-1]))


def test_places_share_masks_only_where_no_token_tells_them_apart(rounds: Callable[[int], int]) -> None:
    for seed in range(rounds(150)):
        draw = random.Random(seed)
        tokens = [t for t in _ORDINARY if draw.random() < 0.8] + [t for t in _REACHING if draw.random() < draw.choice([0, 0.1, 0.4])]
        vocabulary = byte_vocabulary(tokens)
        constraint = Constraint(objects(draw).kernel(), vocabulary)
        for _ in range(6):
            check_masks_on_a_walk(constraint, vocabulary, draw, length=24)


def _one_object(properties: list[str], group: bool, longest: int, tokens: list[bytes]) -> tuple[Constraint, int]:
    builder = ProgramBuilder(whitespace="flexible")
    value, root = builder.new_rule(), builder.new_rule()
    builder.set_rule(value, builder.lex(Language.literal("1"), TEXT))
    spec = builder.object(0, [(key, value, False) for key in properties], [(Language.anything(), value)] if group else [], 0, longest)
    builder.set_rule(root, builder.node(OBJECT, spec, builder.ret))
    vocabulary = byte_vocabulary(tokens)
    return Constraint(builder.finish(root).kernel(), vocabulary), vocabulary.size


@pytest.mark.parametrize(
    ("properties", "group", "longest", "token", "texts"),
    [
        # A token that holds a whole declared key: it may come while the key is still to come.
        (["z", "a", "b"], True, -1, b' "a"', [b'{"z":1,', b'{"z":1,"a":1,']),
        (["z", "a", "b"], False, -1, b' "a', [b'{"z":1,', b'{"z":1,"a":1,']),
        # Tokens that hold several members count.
        ([], True, 3, b',"q":1,"r":1', [b'{"x":1', b'{"x":1,"y":1']),
        (["a", "q", "r"], False, 2, b',"q":1,"r":1', [b'{"q":1', b'{"a":1']),
    ],
)
def test_a_token_that_reaches_further_tells_places_apart(
    properties: list[str], group: bool, longest: int, token: bytes, texts: list[bytes]
) -> None:
    constraint, size = _one_object(properties, group, longest, [token])
    for text in texts + texts[::-1]:
        matcher = Matcher(constraint)
        assert matcher.accept_bytes(text)
        assert mask_of(matcher, size) == allowed_one_by_one(matcher, size), text


def test_members_of_one_shape_share_masks() -> None:
    """Forty members in a row: after the first few, nothing is new."""
    builder = ProgramBuilder(whitespace="compact")
    value = builder.new_rule()
    builder.set_rule(value, builder.lex(Language.anything(), JSON_STRING))
    root = builder.new_rule()
    builder.set_rule(root, builder.node(OBJECT, builder.object(0, [(f"k{i:02}", value, False) for i in range(40)], []), builder.ret))
    vocabulary = byte_vocabulary([b'":"', b'","', b'"}'])
    constraint = Constraint(builder.finish(root).kernel(), vocabulary)
    matcher = Matcher(constraint)
    assert matcher.accept_bytes(b'{"k00":"a"')
    counts = []
    for i in range(1, 39):
        for piece in (b",", b'"', b"k%02d" % i, b'"', b":", b'"', b"text", b'"'):
            assert matcher.accept_bytes(piece)
            assert mask_of(matcher, vocabulary.size) == allowed_one_by_one(matcher, vocabulary.size)
        counts.append(constraint.memory["masks"])
    assert counts[-1] - counts[4] <= 3 * 33, counts  # of eight places in a member, those that tell which keys may come
