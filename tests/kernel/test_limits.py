"""What is large: deep, long, many. Either it works within stated time and memory, or a LimitError says which bound was met."""

from __future__ import annotations

import itertools
import time

import pytest
from tests.kernel.walks import END, byte_vocabulary, mask_of

from scansion._kernel import ARRAY, CALL, JSON_STRING, LEX, OBJECT, TEXT, Constraint, Language, Matcher
from scansion.errors import LimitError
from scansion.program import ProgramBuilder, ProgramData

VOCABULARY = byte_vocabulary([b"[" * 16, b"]" * 16, b"ab", b"abc" * 5, b'":', b'","'])


def json_values(builder: ProgramBuilder, *, unique: bool = False) -> int:
    value = builder.new_rule()
    array = builder.array([], value, 0, -1, unique)
    spec = builder.object(0, [], [(Language.anything(), value)])
    ways = [
        builder.lex(Language.anything(), JSON_STRING),
        builder.lex(Language.char_class([(48, 57)]).repeat(1), TEXT),
        builder.node(ARRAY, array, builder.ret),
        builder.node(OBJECT, spec, builder.ret),
    ]
    builder.set_rule(value, builder.alt(ways))
    return value


def json_program(*, unique: bool = False) -> ProgramData:
    builder = ProgramBuilder(whitespace="compact")
    return builder.finish(json_values(builder, unique=unique))


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_nesting_meets_a_limit_and_not_the_end_of_the_stack(opening: bytes) -> None:
    matcher = Matcher(Constraint(json_program().kernel(), VOCABULARY))
    with pytest.raises(LimitError, match="nests deeper") as caught:
        matcher.accept_bytes(opening * 200_000)
    assert caught.value.limit == "depth"
    assert caught.value.allowed is not None
    deep = 50_000
    assert matcher.token_count == 0, "a refused text leaves the matcher where it was"
    assert matcher.accept_bytes(opening * deep)
    assert ord("]") in mask_of(matcher, VOCABULARY.size) or opening != b"["
    assert matcher.shortest_cost() >= deep
    closing = b"]" if opening == b"[" else b"}"
    assert matcher.accept_bytes((b"" if opening == b"[" else b"1") + closing * deep)
    assert matcher.is_complete


def test_unique_arrays_may_nest_deeply() -> None:
    matcher = Matcher(Constraint(json_program(unique=True).kernel(), VOCABULARY))
    assert matcher.accept_bytes(b"[" * 2_000 + b"]" * 1_000 + b",1,2,3")
    assert not matcher.accept_bytes(b",2]")
    mask_of(matcher, VOCABULARY.size)


def test_right_recursion_costs_no_depth() -> None:
    """``s ::= "ab" s | ""`` a hundred thousand times."""
    builder = ProgramBuilder()
    rule = builder.new_rule()
    more = builder.lex(Language.literal("ab"), TEXT, builder.node(CALL, rule, builder.ret))
    builder.set_rule(rule, builder.alt([more, builder.ret]))
    constraint = Constraint(builder.finish(rule).kernel(), VOCABULARY)
    matcher = Matcher(constraint)
    assert matcher.accept_bytes(b"ab" * 100_000)
    assert matcher.is_complete
    assert constraint.memory["states"] < 20


def test_ambiguity_costs_polynomially() -> None:
    """``s ::= "a" s "b" | "a" s "c" | "x"`` has 2^n readings of n letters and one stack a level."""
    builder = ProgramBuilder()
    rule = builder.new_rule()
    ways = [
        builder.lex(Language.literal("a"), TEXT, builder.node(CALL, rule, builder.lex(Language.literal(end), TEXT))) for end in ("b", "c")
    ]
    builder.set_rule(rule, builder.alt([*ways, builder.lex(Language.literal("x"), TEXT)]))
    constraint = Constraint(builder.finish(rule).kernel(), VOCABULARY)
    matcher = Matcher(constraint)
    assert matcher.accept_bytes(b"a" * 3_000 + b"x" + b"bc" * 1_500)
    assert matcher.is_complete
    assert constraint.memory["stacks"] < 20_000


def test_a_long_string_is_few_states() -> None:
    constraint = Constraint(json_program().kernel(), VOCABULARY)
    matcher = Matcher(constraint)
    before = constraint.memory["states"]
    begun = time.perf_counter()
    assert matcher.accept_bytes(b'["' + "aé€😀\\n".encode() * 200_000)
    assert len(mask_of(matcher, VOCABULARY.size)) > 100
    assert matcher.accept_bytes(b'"]')
    assert matcher.is_complete
    assert time.perf_counter() - begun < 20
    assert constraint.memory["states"] - before < 100


def test_long_unique_strings_are_compared() -> None:
    constraint = Constraint(json_program(unique=True).kernel(), VOCABULARY)
    long = b'"' + b"abc" * 30_000
    matcher = Matcher(constraint)
    assert matcher.accept_bytes(b"[" + long + b'",' + long)
    assert not matcher.allows(ord('"'))
    assert ord('"') not in mask_of(matcher, VOCABULARY.size)
    assert matcher.accept_bytes(b'd"]')
    assert matcher.is_complete


@pytest.mark.slow
def test_many_additional_keys() -> None:
    """Ten thousand keys in one object: none may come again, and a step late costs about what a step early does."""
    constraint = Constraint(json_program().kernel(), VOCABULARY)
    matcher = Matcher(constraint)
    assert matcher.accept_bytes(b'{"first":1')
    begun = time.perf_counter()
    for number in range(10_000):
        assert matcher.accept_bytes(b',"key %d":1' % number)
        if number % 500 == 0:
            mask_of(matcher, VOCABULARY.size)
    assert time.perf_counter() - begun < 30
    assert constraint.memory["bytes"] < 1 << 28
    assert matcher.accept_bytes(b',"key 123')
    assert not matcher.allows(ord('"'))
    assert ord('"') not in mask_of(matcher, VOCABULARY.size)
    assert matcher.accept_bytes(b'45678":1}')
    assert matcher.is_complete


@pytest.mark.slow
def test_many_unique_items() -> None:
    constraint = Constraint(json_program(unique=True).kernel(), VOCABULARY)
    matcher = Matcher(constraint)
    assert matcher.accept_bytes(b"[0")
    begun = time.perf_counter()
    for number in range(1, 2_000):
        assert matcher.accept_bytes(b",%d" % number)
    assert time.perf_counter() - begun < 30
    assert constraint.memory["bytes"] < 1 << 28
    assert matcher.accept_bytes(b",1234")
    assert not matcher.allows(ord("]"))
    assert not matcher.allows(ord(","))
    assert matcher.accept(ord("5"))
    assert matcher.allows(ord("]"))


@pytest.mark.parametrize("times", [1_000, 1_000_000])
def test_counted_repetition_is_exact_and_small(times: int) -> None:
    builder = ProgramBuilder()
    rules = [builder.new_rule() for _ in range(2)]
    builder.set_rule(rules[1], builder.lex(Language.literals(["ab", "c"]), TEXT))
    builder.set_rule(rules[0], builder.repeat(rules[1], times, times))
    constraint = Constraint(builder.finish(rules[0]).kernel(), VOCABULARY)
    matcher = Matcher(constraint)
    assert matcher.shortest_cost() == times
    assert END not in mask_of(matcher, VOCABULARY.size)
    if times <= 1_000:
        assert matcher.accept_bytes(b"ab" * (times - 1))
        assert not matcher.is_complete
        assert matcher.accept_bytes(b"c")
        assert matcher.is_complete
        assert matcher.next_bytes() == b""
        assert constraint.memory["masks"] < 20
    else:
        assert matcher.accept_bytes(b"c" * 10_000)
        assert not matcher.is_complete


def test_counted_repetition_of_a_million_in_a_language() -> None:
    builder = ProgramBuilder()
    rule = builder.new_rule()
    word = Language.literals(["ab", "c"])
    builder.set_rule(rule, builder.node(LEX, builder.lexeme(word.repeat(0, 1_000_000), TEXT), builder.ret))
    matcher = Matcher(Constraint(builder.finish(rule).kernel(), VOCABULARY))
    assert matcher.accept_bytes(b"abc" * 1_000)
    assert matcher.is_complete
    assert matcher.shortest_cost() == 0


def test_array_bounds_of_a_hundred_thousand_share_their_masks() -> None:
    builder = ProgramBuilder(whitespace="compact")
    value, root = builder.new_rule(), builder.new_rule()
    builder.set_rule(value, builder.lex(Language.char_class([(48, 57)]), TEXT))
    builder.set_rule(root, builder.node(ARRAY, builder.array([], value, 50_000, 100_000), builder.ret))
    constraint = Constraint(builder.finish(root).kernel(), VOCABULARY)
    matcher = Matcher(constraint)
    assert matcher.accept_bytes(b"[1")
    for _ in range(300):
        assert mask_of(matcher, VOCABULARY.size) == {ord(",")}
        assert matcher.accept_bytes(b",1")
    assert matcher.accept_bytes(b",1" * (49_999 - 301))
    assert mask_of(matcher, VOCABULARY.size) == {ord(",")}
    assert matcher.accept_bytes(b",1")
    assert mask_of(matcher, VOCABULARY.size) == {ord(","), ord("]")}
    assert constraint.memory["masks"] < 100
    assert matcher.accept_bytes(b",1" * 50_000)
    assert mask_of(matcher, VOCABULARY.size) == {ord("]")}


def test_a_hundred_readings_at_once_meet_no_limit_and_many_thousands_do() -> None:
    """Each of n lexemes reads on: the width of a state is bounded."""
    for count, refused in ((100, False), (25_000, True)):
        builder = ProgramBuilder()
        rule = builder.new_rule()
        letters = ("".join(word) for word in itertools.product("abcdefghij", repeat=5))
        nodes = [
            builder.lex(Language.concat([Language.char_class([(97, 106)]).repeat(0), Language.literal(w)]), TEXT)
            for w, _ in zip(letters, range(count), strict=False)
        ]
        builder.set_rule(rule, builder.alt(nodes))
        program = builder.finish(rule).kernel()
        if refused:
            with pytest.raises(LimitError) as caught:
                Matcher(Constraint(program, VOCABULARY)).accept_bytes(b"aaaa")
            assert caught.value.limit == "width"
        else:
            matcher = Matcher(Constraint(program, VOCABULARY))
            assert matcher.accept_bytes(b"aaaaa")
            assert matcher.is_complete


@pytest.mark.parametrize("repeated", ["ab", "k"])
def test_long_literals_do_not_nest(repeated: str) -> None:
    """A literal is a chain of concatenations; nothing may follow it by recursion."""
    builder = ProgramBuilder()
    root = builder.new_rule()
    text = Language.concat([Language.char_class([(120, 122)]), Language.literal(repeated * 200_000)])
    builder.set_rule(root, builder.lex(text, TEXT))
    matcher = Matcher(Constraint(builder.finish(root).kernel(), VOCABULARY))
    assert mask_of(matcher, VOCABULARY.size) == {120, 121, 122}


def test_a_text_read_in_too_many_ways_meets_a_limit() -> None:
    builder = ProgramBuilder()
    root = builder.new_rule()
    more = builder.ret
    for _ in range(3):
        more = builder.node(CALL, root, more)
    builder.set_rule(root, builder.node(LEX, builder.lexeme(Language.literal("a"), TEXT), builder.alt([more, builder.ret])))
    matcher = Matcher(Constraint(builder.finish(root).kernel(), VOCABULARY))
    with pytest.raises(LimitError, match="too many ways"):
        for _ in range(2000):
            assert matcher.accept(ord("a"))


def test_arrays_of_one_array_without_end_are_compiled() -> None:
    """What is made before the first token is bounded also where each value leads to another and nothing follows it."""
    builder = ProgramBuilder(whitespace="compact")
    rule = builder.new_rule()
    builder.set_rule(rule, builder.node(ARRAY, builder.array([], rule, 0, 1), builder.ret))
    matcher = Matcher(Constraint(builder.finish(rule).kernel(), VOCABULARY))
    assert matcher.accept_bytes(b"[[[]]]")
