"""Items of unique arrays: masks against each token, and finished texts against Python's idea of equal JSON values."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from tests.kernel.walks import allowed_one_by_one, byte_vocabulary, check_masks_on_a_walk, mask_of, random_tokens
from tests.oracles.program_recogniser import accepts

from scansion._kernel import ARRAY, JSON_STRING, OBJECT, TEXT, Constraint, Language, Matcher, Vocabulary
from scansion.program import ProgramBuilder, ProgramData

_PIECES = [
    *(b"{", b"}", b'"', b":", b",", b"a", b'"a":', b"b", b"[", b"]", b"1", b"0", b".", b" "),
    *(b"red", b'"red"', b"true", b"false", b"green", b'"b":', b"\\u0072"),
]
_SEAMS = [
    *(b"1,1", b"1,1,", b'","', b'"red","red"', b"true,true", b"true,false", b"1.0", b"1.0,", b'{"a":"red"}', b'"}', b'"},', b'"},{'),
    *(b"1]", b"true}", b'red"]', b'red",'),
]

_DIGIT = Language.char_class([(48, 57)])
_INTEGER = Language.union([Language.literal("0"), Language.concat([Language.char_class([(49, 57)]), _DIGIT.repeat(0, 2)])])
_NUMBER = Language.concat([_INTEGER, Language.concat([Language.literal("."), _DIGIT.repeat(1, 2)]).repeat(0, 1)])


def unique_arrays(draw: random.Random) -> ProgramData:
    """A unique array of items of up to three kinds, or an array of such arrays."""
    builder = ProgramBuilder(whitespace=draw.choice(["flexible", "bounded", "compact"]), canonical_keys=draw.random() < 0.7)

    def rule(node: int) -> int:
        made = builder.new_rule()
        builder.set_rule(made, node)
        return made

    string = builder.lex(Language.anything(), JSON_STRING)
    few = builder.lex(Language.literals(["red", "re", "green"]), JSON_STRING)
    spelled = builder.lex(Language.literals(['"red"', '"green"', '"re"', "1"]), TEXT)
    number = builder.lex(_NUMBER, TEXT)
    boolean = builder.lex(Language.literals(["true", "false"]), TEXT)
    flag = rule(boolean)
    record = builder.object(
        draw.choice([0, 1]),
        [("a", draw.choice([rule(string), flag, rule(spelled)]), True), ("b", flag, draw.random() < 0.5)],
    )
    mapping = builder.object(0, [], [(Language.anything(), flag)], 0, 2)
    inner = builder.array([], rule(builder.alt([boolean, number])), 0, 2, draw.random() < 0.5)
    kinds = [
        *(string, few, spelled, number, boolean),
        *(builder.node(OBJECT, record, builder.ret), builder.node(OBJECT, mapping, builder.ret), builder.node(ARRAY, inner, builder.ret)),
    ]
    item = rule(builder.alt(draw.sample(kinds, draw.randint(1, 3))))
    items = rule(builder.node(ARRAY, builder.array([], item, 0, draw.choice([-1, 4]), True), builder.ret))
    if draw.random() < 0.3:
        items = rule(builder.node(ARRAY, builder.array([], items, 0, -1), builder.ret))
    return builder.finish(items)


def item_vocabulary(draw: random.Random) -> Vocabulary:
    return byte_vocabulary(random_tokens(draw, _PIECES, 300, 6) + _SEAMS)


def walk_all(seeds: range) -> int:
    """Walks of the programs of some seeds; how many texts ended by themselves."""
    ended = 0
    for seed in seeds:
        draw = random.Random(seed)
        vocabulary = item_vocabulary(draw)
        program = unique_arrays(draw)
        constraint = Constraint(program.kernel(), vocabulary)
        for _ in range(6):
            text, whole = check_masks_on_a_walk(constraint, vocabulary, draw, length=18, merged=0.6)
            assert accepts(program, text.decode()), text
            ended += whole
    return ended


def test_masks_say_what_each_token_does() -> None:
    assert walk_all(range(15)) > 10


def test_masks_say_what_each_token_does_everywhere(rounds: Callable[[int], int]) -> None:
    walk_all(range(15, 15 + rounds(50)))  # 49, 55: words in quotes that are no JSON strings


@pytest.mark.parametrize("prefix", [rb'["red","green","\u00', rb'["red","green","\u'])
def test_a_value_read_is_noticed_inside_an_escape(prefix: bytes) -> None:
    vocabulary = byte_vocabulary([b'72e"', b"0072", b"0067"])
    builder = ProgramBuilder(whitespace="compact")
    colour = builder.new_rule()
    builder.set_rule(colour, builder.lex(Language.literals(["red", "re", "green"]), JSON_STRING))
    root = builder.new_rule()
    builder.set_rule(root, builder.node(ARRAY, builder.array([], colour, 0, -1, True), builder.ret))
    matcher = Matcher(Constraint(builder.finish(root).kernel(), vocabulary))
    assert matcher.accept_bytes(prefix)
    assert mask_of(matcher, vocabulary.size) == allowed_one_by_one(matcher, vocabulary.size)


@pytest.mark.parametrize("prefix", [b"[[true", b"[[false"])
def test_an_item_within_one_token_is_compared_in_nested_unique_arrays(prefix: bytes) -> None:
    vocabulary = byte_vocabulary([b",true", b",false", b"true,false", b",false]", b"],[true"])
    builder = ProgramBuilder(whitespace="compact")
    root = builder.new_rule()
    builder.set_rule(root, builder.lex(Language.literals(["true", "false"]), TEXT))
    for _ in range(2):
        items, root = root, builder.new_rule()
        builder.set_rule(root, builder.node(ARRAY, builder.array([], items, 0, -1, True), builder.ret))
    matcher = Matcher(Constraint(builder.finish(root).kernel(), vocabulary))
    assert matcher.accept_bytes(prefix)
    assert mask_of(matcher, vocabulary.size) == allowed_one_by_one(matcher, vocabulary.size)


@pytest.mark.parametrize("whitespace", ["compact", "flexible"])
def test_no_comma_where_every_value_was_read(whitespace: str) -> None:
    vocabulary = byte_vocabulary()
    builder = ProgramBuilder(whitespace=whitespace)
    flag = builder.new_rule()
    builder.set_rule(flag, builder.lex(Language.literals(["true", "false"]), TEXT))
    root = builder.new_rule()
    builder.set_rule(root, builder.node(ARRAY, builder.array([], flag, 0, -1, True), builder.ret))
    matcher = Matcher(Constraint(builder.finish(root).kernel(), vocabulary))
    assert matcher.accept_bytes(b"[true,false")
    assert not matcher.allows(ord(","))
    assert ord(",") not in mask_of(matcher, vocabulary.size)


def test_no_third_record_where_there_are_two() -> None:
    builder = ProgramBuilder(whitespace="bounded")
    flag, record, root = builder.new_rule(), builder.new_rule(), builder.new_rule()
    builder.set_rule(flag, builder.lex(Language.literals(["true", "false"]), TEXT))
    builder.set_rule(record, builder.node(OBJECT, builder.object(0, [("a", flag, True)]), builder.ret))
    builder.set_rule(root, builder.node(ARRAY, builder.array([], record, 0, -1, True), builder.ret))
    matcher = Matcher(Constraint(builder.finish(root).kernel(), byte_vocabulary()))
    assert matcher.accept_bytes(b'[{"a":true},{"a":false}')
    assert not matcher.accept_bytes(b",")


def test_no_fourth_word_where_there_are_three() -> None:
    builder = ProgramBuilder(whitespace="compact")
    item, root = builder.new_rule(), builder.new_rule()
    ways = [builder.lex(Language.literals(["red", "green", "re"]), JSON_STRING), builder.lex(Language.literals(["true", "false"]), TEXT)]
    builder.set_rule(item, builder.alt(ways))
    builder.set_rule(root, builder.node(ARRAY, builder.array([], item, 0, -1, True), builder.ret))
    matcher = Matcher(Constraint(builder.finish(root).kernel(), byte_vocabulary()))
    assert matcher.accept_bytes(b'["red","green","re",')
    assert matcher.next_bytes() == b"ft"


def test_no_comma_of_two_bytes_where_every_value_was_read() -> None:
    builder = ProgramBuilder(whitespace="spaced")
    null, root = builder.new_rule(), builder.new_rule()
    builder.set_rule(null, builder.lex(Language.literal("null"), TEXT))
    builder.set_rule(root, builder.node(ARRAY, builder.array([], null, 0, -1, True), builder.ret))
    matcher = Matcher(Constraint(builder.finish(root).kernel(), byte_vocabulary()))
    assert matcher.accept_bytes(b"[null")
    assert not matcher.allows(ord(","))
    assert ord(",") not in mask_of(matcher, 257)


def test_one_number_spelled_in_many_ways_is_one_value() -> None:
    builder = ProgramBuilder(whitespace="compact")
    one, root = builder.new_rule(), builder.new_rule()
    spellings = Language.concat(
        [Language.literal("1"), Language.concat([Language.literal("."), Language.literal("0").repeat(1)]).repeat(0, 1)]
    )
    builder.set_rule(one, builder.lex(spellings, TEXT))
    builder.set_rule(root, builder.node(ARRAY, builder.array([], one, 0, -1, True), builder.ret))
    matcher = Matcher(Constraint(builder.finish(root).kernel(), byte_vocabulary()))
    assert matcher.accept_bytes(b"[1")
    assert not matcher.accept_bytes(b",")


@pytest.mark.parametrize("words", [["a"], ["a", "ax"]])
@pytest.mark.parametrize("kind", [JSON_STRING, TEXT])
def test_a_token_begins_the_array_and_both_of_its_items(words: list[str], kind: int) -> None:
    """Nothing was read before the token, so what its second item repeats is known from the token alone."""
    builder = ProgramBuilder(whitespace="compact")
    item, items = builder.new_rule(), builder.new_rule()
    spelled = words if kind == JSON_STRING else [f'"{word}"' for word in words]
    builder.set_rule(item, builder.lex(Language.literals(spelled), kind))
    builder.set_rule(items, builder.node(ARRAY, builder.array([], item, 0, -1, True), builder.ret))
    tokens = [b'["a",', b'["a"', b'["a","a"', b'["a","ax"', b'["ax","a",', b'"a","a"', b'["a","']
    vocabulary = byte_vocabulary(tokens)
    matcher = Matcher(Constraint(builder.finish(items).kernel(), vocabulary))
    assert mask_of(matcher, vocabulary.size) == allowed_one_by_one(matcher, vocabulary.size)
    assert matcher.allows(257) == (len(words) > 1)
