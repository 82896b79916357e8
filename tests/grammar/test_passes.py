"""Passes over grammars: what they refuse, and the form they leave."""

from __future__ import annotations

import time

import pytest
from tests.languages.texts import check_texts, is_prefix

from scansion import Grammar, GrammarError, LimitError, UnsatisfiableError
from scansion._kernel import Language
from scansion.grammar.check import check
from scansion.grammar.collapse import collapse
from scansion.grammar.graph import reachable, strong_components
from scansion.grammar.left_recursion import has_left_recursion, remove_left_recursion
from scansion.grammar.lower import lower, simplify
from scansion.grammar.nodes import EMPTY, NOTHING, Call, Choice, Repeat, Rules, Seq, Text, choice, repeat, seq
from scansion.grammar.nullable import nullable_rules
from scansion.grammar.productive import require_productive
from scansion.languages.gbnf import parse_gbnf

A = Text(Language.literal("a"))


def grammar_of(rules: Rules) -> Grammar:
    return Grammar("gbnf", lower(rules))


def test_constructors_keep_expressions_plain() -> None:
    assert seq([A, Seq((A, A)), EMPTY]) == Seq((A, A, A))
    assert seq([A, NOTHING]) == NOTHING
    assert choice([Choice((A,)), A]) == A
    assert repeat(A, 1, 1) == A
    assert repeat(A, 3, 0) == EMPTY
    assert repeat(NOTHING, 0, None) == EMPTY
    assert repeat(repeat(A, 1, None), 0, None) == Repeat(A, 0, None)


def test_undefined_rules_are_refused_and_unused_ones_dropped() -> None:
    with pytest.raises(GrammarError, match="'missing'"):
        check(Rules("start", {"start": Call("missing")}))
    with pytest.raises(GrammarError, match="'start'"):
        check(Rules("start", {"other": A}))
    assert list(check(Rules("start", {"start": A, "unused": A})).rules) == ["start"]


def test_components_come_callees_first() -> None:
    graph = {"a": ["b"], "b": ["c", "d"], "c": ["b"], "d": []}
    assert [sorted(component) for component in strong_components(graph)] == [["d"], ["b", "c"], ["a"]]
    long = {str(i): [str(i + 1)] for i in range(50_000)} | {"50000": []}
    assert len(strong_components(long)) == 50_001
    assert len(reachable("a", {"a": ["b"], "b": ["a"]})) == 2


def test_regular_rules_become_one_text() -> None:
    rules = collapse(parse_gbnf('root ::= "<" word ("," word)* ">"\nword ::= [a-z]+ ws\nws ::= [ \\t] ws | ""'))
    assert list(rules.rules) == ["root"]
    assert isinstance(rules.rules["root"], Text)
    check_texts(grammar_of(rules), ["<a>", "<ab  ,c>"], ["<>", "<a,>"])


def test_recursion_in_the_middle_stays_a_rule() -> None:
    rules = collapse(parse_gbnf('root ::= "(" root ")" | [a-z]+ [0-9]*'))
    body = rules.rules["root"]
    assert isinstance(body, Choice) and any(isinstance(part, Text) for part in body.parts)


def test_left_recursion_is_gone_and_texts_stay() -> None:
    cases = {
        'root ::= root "+" num | num\nnum ::= [0-9]+': (["1", "1+2+3"], ["+1", "1+"]),
        'root ::= a "x" | "r"\na ::= b "y" | root\nb ::= a "z" | "b"': (["r", "rx", "byx", "rzyx", "rxzyx"], ["x", "rz", "bx"]),
        'root ::= n n root "x" | "y"\nn ::= "n" | ""': (["y", "yx", "nyx", "nnyxx"], ["nnnyx", "x"]),
        'root ::= root root | "(" root ")" | ""': (["", "()", "()(())"], [")", "("]),
        'root ::= a\na ::= b\nb ::= a | "b" | c "!"\nc ::= b': (["b", "b!", "b!!"], ["!", "bb"]),
    }
    for text, (accepted, rejected) in cases.items():
        rules = simplify(parse_gbnf(text))
        assert not has_left_recursion(rules), text
        check_texts(Grammar.from_gbnf(text), accepted, rejected)


def test_grammars_without_left_recursion_are_left_alone() -> None:
    rules = parse_gbnf('root ::= "a" root | "b"')
    assert remove_left_recursion(rules, nullable_rules(rules)) is rules


def test_entangled_rules_meet_a_limit() -> None:
    count = 3000
    text = "root ::= r0\n" + "\n".join(f'r{i} ::= r{(i + 1) % count} "x" | "a"' for i in range(count))
    with pytest.raises(LimitError) as caught:
        Grammar.from_gbnf(text)
    assert caught.value.limit == "left_recursion"


def test_three_hundred_entangled_rules_work() -> None:
    count = 100
    text = "root ::= r0\n" + "\n".join(f'r{i} ::= r{(i + 1) % count} "x" | "a"' for i in range(count))
    check_texts(Grammar.from_gbnf(text), ["a", "axxx"], ["x", "ab"])


def test_the_rule_to_blame_is_the_inner_one() -> None:
    with pytest.raises(UnsatisfiableError) as caught:
        Grammar.from_gbnf('root ::= "a" part\npart ::= inner "x"\ninner ::= "(" inner ")"')
    assert caught.value.construct == "inner"
    assert (caught.value.line, caught.value.column) == (3, 1)


def test_dead_alternatives_leave_no_dead_end() -> None:
    # n may only be empty, so nothing is left of it once the empty text is taken out.
    grammar = Grammar.from_gbnf('root ::= root "x" n root "y" | "b" n\nn ::= ""')
    assert is_prefix(grammar, "bx")
    check_texts(grammar, ["b", "bxby", "bxbybz"[:4]], ["bx", "x"])


def test_ambiguity_costs_no_explosion() -> None:
    started = time.perf_counter()
    grammar = Grammar.from_gbnf('root ::= "a" root "b" | "a" root "c" | "x"')
    check_texts(grammar, ["a" * 300 + "x" + "bc" * 150], [])
    check_texts(Grammar.from_gbnf('root ::= root root | "a"'), ["a" * 1500], [])
    assert time.perf_counter() - started < 10


EACH_OF_200 = " | ".join(f"r{number}" for number in range(200)) + ' | "b"'
MAY_BE_EMPTY = '\nn ::= "n" | "(" n ")" | ""\n'


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("root ::= " + "n " * 20_000 + 'root "x" | "y"' + MAY_BE_EMPTY, "rewritten_parts"),
        ("root ::= (" + "n " * 20_000 + ')* "y"' + MAY_BE_EMPTY, "rewritten_parts"),
        ("root ::= " + '(root | "") ' * 3000 + '"b"', "rewritten_parts"),
        ("\n".join(f"{name} ::= {EACH_OF_200}" for name in ["root", *map("r{}".format, range(200))]), "rewritten_parts"),
        ("root ::= " + "|" * 500_000, "grammar_items"),
        ("root ::= " + "(" * 500_000, "grammar_items"),
        ("root ::= " + "(" * 60_000 + '"a" | root ' + '"b")?' * 60_000, "grammar_items"),
    ],
)
def test_what_would_take_the_square_meets_a_limit(text: str, limit: str) -> None:
    with pytest.raises(LimitError) as caught:
        Grammar.from_gbnf(text)
    assert caught.value.limit == limit
    assert str(caught.value).startswith("line ")


def test_fixpoints_look_at_each_part_once() -> None:
    count = 20_000
    parts = " ".join(f"a{i}" for i in range(count))
    rules = "\n".join(f'a{i} ::= a{i + 1} | root "q"' for i in range(count))
    started = time.process_time()
    grammar = parse_gbnf(f'{rules}\na{count} ::= "x"\nroot ::= {parts}')
    require_productive(grammar)
    assert nullable_rules(grammar) == set()
    assert time.process_time() - started < 3
    with pytest.raises(UnsatisfiableError, match="can never finish"):
        require_productive(parse_gbnf(f'{rules}\na{count} ::= root "x"\nroot ::= {parts}'))


@pytest.mark.parametrize("line", ['r{0} ::= "a" r{1}\n', 'r{0} ::= r{1} "a"\n', 'r{0} ::= "key{0}" ":" [0-9]+ r{1} | "(" r{0} ")"\n'])
def test_long_chains_of_rules_are_read_quickly(line: str) -> None:
    lines = ["root ::= r0\n"]
    size = 0
    while size < 1 << 18:
        lines.append(line.format(len(lines) - 1, len(lines)))
        size += len(lines[-1])
    text = "".join(lines) + f'r{len(lines) - 1} ::= "b"'
    started = time.process_time()
    Grammar.from_gbnf(text)
    assert time.process_time() - started < 2  # a quarter of a second on an idle machine


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("start: " + "A? " * 2000 + '\nA: /a+/\n%ignore " "', "rewritten_parts"),
        (
            "start: (" + "|".join(f"x{i}" for i in range(4000)) + ")*\n" + "\n".join(f"x{i}[lazy]: /[a-z]+{i}/" for i in range(4000)),
            "lazy_terminals",
        ),
        ('start: "' + 'a" "' * 400_000 + '"', "grammar_items"),
    ],
)
def test_what_would_take_the_square_in_lark_meets_a_limit(text: str, limit: str) -> None:
    with pytest.raises(LimitError) as caught:
        Grammar.from_lark(text)
    assert caught.value.limit == limit
    assert str(caught.value).startswith("line ")
