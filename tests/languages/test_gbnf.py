"""GBNF: what grammars match, and where errors point."""

from __future__ import annotations

import time

import pytest
from tests.languages.texts import check_texts, is_prefix, is_text

from scansion import Grammar, GrammarError, LimitError, UnsatisfiableError
from scansion.languages.gbnf import parse_gbnf

CASES = {
    "literal": ('root ::= "yes" | "no"', ["yes", "no"], ["", "ye", "yesno"]),
    "escapes": (r'root ::= "\t\r\n\\\"\[\]\-\x41\u00e9\U0001F600"', ['\t\r\n\\"[]-Aé😀'], ["\t\r\n"]),
    "class": ("root ::= [a-cx_] [^a-c]", ["ad", "x\n", "_é", "c😀"], ["aa", "da", "a"]),
    "class escapes": (r"root ::= [a\-z]{2} [\]\\\x41\u00e9]", ["a-]", "z-A", "--é", "aa\\"], ["bz]", "a-a", "a-", "a]]"]),
    "hyphen at the end": ("root ::= [a-] [-b]", ["a-", "-b", "--"], ["b-", "aa"]),
    "any character": ("root ::= . .", ["ab", "\n\n", "é😀"], ["a", "abc"]),
    "repetitions": (
        'root ::= "a"* "b"+ "c"? "d"{2} "e"{1,2} "f"{2,} "g"{0,1}',
        ["bddeff", "aabbcddeefffg"],
        ["ddeff", "bdeff", "bddeeeff", "bddef", "bddeffgg"],
    ),
    "repetition of a literal": ('root ::= "ab"{2}', ["abab"], ["abb", "ab"]),
    "stacked repetitions": ('root ::= "a"{2}{3}', ["aaaaaa"], ["aa", "aaaaa"]),
    "no repetition": ('root ::= "a" "b"{0} "c"{0,0}', ["a"], ["ab", "ac"]),
    "group": ('root ::= ("a" | "b" ("c" | "d"))+ "!"', ["a!", "bca!", "bdbd!"], ["!", "b!"]),
    "empty alternative": ('root ::= "a" (| "b")', ["a", "ab"], ["b"]),
    "comments": ('# first\nroot ::= "a" # one | "x"\n  # alone\n\nb ::= "b"', ["a"], ["x", "b"]),
    "line ends": ('root ::= (\r\n  "a"\r\n  b\r\n) |\r\n  "c"\r\nb ::= "b"\r\n', ["ab", "c"], ["a", "abc"]),
    "bar on the next line": ('root ::= "up"\n       | "down"\n  # between\n  | "stay"\n', ["up", "down", "stay"], ["left"]),
    "body on the next line": ('root ::=\n  "a"\n', ["a"], [""]),
    "names": ('root ::= a-b a_b A2\na-b ::= "1"\na_b ::= "2"\nA2 ::= "3"', ["123"], ["12"]),
    "unused rule": ('root ::= "a"\nother ::= "b" other | "c"', ["a"], ["c"]),
    "wide ranges": ('root ::= [一-龥]+ [🌀-🙏] "ж"?', ["道🙏", "一龥🌀ж", "金😀"], ["a🙏", "道", "道🚀", "道🙏е"]),
    "empty parts": (
        'root ::= gap "x" gap\ngap ::= (blank eol?)*\nblank ::= " "* [\\t]?\neol ::= "\\r\\n" | "\\n"',
        ["x", " \t\r\n x\n\n", "x "],
        ["", "x x", " "],
    ),
    "left recursion": ('root ::= root "-" num | num\nnum ::= [0-9]+', ["7", "7-2-1"], ["-7", "7-"]),
    "indirect left recursion": ('root ::= expr\nexpr ::= sum | num\nsum ::= expr "-" num\nnum ::= [0-9]+', ["7", "7-2-1"], ["-7", "7-"]),
    "hidden left recursion": ('root ::= n root "x" | "y"\nn ::= "q" n "q" | ""', ["y", "yx", "qqyxx", "qqqqyx"], ["x", "qyx", "qqy"]),
    "doubling": ('root ::= root root | "a"', ["a", "aa", "aaaaaaa"], ["", "b"]),
    "tripling": ('root ::= root root root | "a"', ["a", "aaa", "aaaaa"], ["", "aa", "aaaa"]),
    "palindromes": ('root ::= "a" root "a" | "b" root "b" | ""', ["", "aa", "abba"], ["a", "ab", "aab"]),
    "unclear ends": ('root ::= "a" root "b" | "a" root "c" | "x"', ["x", "aaxbc"], ["aaxb", "axbb"]),
    "right recursion": ('root ::= ws "x" ws\nws ::= ([ \\t] ws)?', ["x", " \tx  "], ["", " "]),
    "million": ('root ::= "<" [0-9]{3,1000000} ">"', ["<123>", "<1234567890>"], ["<12>"]),
    "counted group": ('root ::= ("(" root? ")"){2,3}', ["()()", "()()()", "(()())()"], ["()", "()()()()", "(())()"]),
}


@pytest.mark.parametrize("name", CASES)
def test_grammar_matches_what_it_says(name: str) -> None:
    text, accepted, rejected = CASES[name]
    check_texts(Grammar.from_gbnf(text), accepted, rejected)


ERRORS = {
    "no rules": ("# nothing\n", 1, 1, "no rules"),
    "no definition sign": ('root = "a"', 1, 6, "expected '::='"),
    "unclosed literal": ('root ::= "abc\n', 1, 10, "never closed"),
    "unclosed class": ("root ::= [abc", 1, 10, "never closed"),
    "unclosed group": ('root ::= "a" ("b"\n', 1, 14, "never closed"),
    "stray parenthesis": ('root ::= "a")', 1, 13, "closes no group"),
    "stray brace": ('root ::= "a" }', 1, 14, "found '}'"),
    "nothing to repeat": ("root ::= * ", 1, 10, "before '*'"),
    "bounds the wrong way round": ('root ::= "a"{3,2}', 1, 13, "at most 2"),
    "bounds without a number": ('root ::= "a"{,2}', 1, 13, "{m,n}"),
    "undefined rule": ('root ::= "a"\n  | missing', 2, 5, "'missing'"),
    "rule defined twice": ('root ::= a\na ::= "1"\na ::= "2"', 3, 1, "defined twice"),
    "empty rule": ('a ::=\nroot ::= "x"', 2, 1, "beginning of the rule 'root'"),
    "unknown escape": (r'root ::= "\q"', 1, 11, "no escape"),
    "short escape": (r'root ::= "\x4"', 1, 11, "2 hexadecimal digits"),
    "surrogate": (r'root ::= "\ud83d\ude00"', 1, 11, "not a character"),
    "empty class": ("root ::= []", 1, 10, "empty"),
    "backward range": ("root ::= [z-a]", 1, 11, "backwards"),
    "token without an end": ("root ::= <[12", 1, 10, "expected a token"),
    "huge token id": ("root ::= <[99999999999999999999]>", 1, 10, "too large"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error_points_at_the_place(name: str) -> None:
    text, line, column, words = ERRORS[name]
    with pytest.raises(GrammarError) as caught:
        Grammar.from_gbnf(text)
    error = caught.value
    assert (error.line, error.column) == (line, column)
    assert words in str(error)
    assert str(error).startswith(f"line {line}, column {column}: ")
    shown, caret = str(error).split("\n")[1:3]
    assert shown[4:] == text.splitlines()[line - 1].replace("\t", " ") if text.splitlines()[line - 1] else True
    assert caret.index("^") == 4 + column - 1


def test_missing_root_is_named() -> None:
    with pytest.raises(GrammarError, match="no rule 'root'"):
        Grammar.from_gbnf('start ::= "a"')
    check_texts(Grammar.from_gbnf('start ::= "a"', root="start"), ["a"], [""])


def test_definition_given_twice_alike_is_one_definition() -> None:
    check_texts(Grammar.from_gbnf('root ::= ws "a"\nws ::= " "*\nws ::= " "*'), [" a"], [])


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('root ::= "a" root', "root"),
        ('root ::= "a" | b\nb ::= c "x"\nc ::= b', "b"),
        ('root ::= loop | "x"\nloop ::= "(" loop ")"', "loop"),
    ],
)
def test_rule_that_never_finishes_is_named(text: str, rule: str) -> None:
    with pytest.raises(UnsatisfiableError, match="never finish") as caught:
        Grammar.from_gbnf(text)
    assert caught.value.construct in (rule, "c")


def test_repetition_over_the_limit_is_refused_at_once() -> None:
    started = time.perf_counter()
    with pytest.raises(LimitError, match="1,000,000") as caught:
        Grammar.from_gbnf('root ::= "<" [0-9]{1500000000,1999999999} ">"\n')
    assert caught.value.limit == "repetition"
    assert time.perf_counter() - started < 0.5


@pytest.mark.parametrize(
    "text",
    [
        "root ::= " + "(" * 10_000 + '"a"' + ")" * 10_000,
        'root ::= "a"' + "*" * 20_000,
        "root ::= r0\n" + "\n".join(f"r{i} ::= r{i + 1} r{i + 1}" for i in range(100)) + '\nr100 ::= "a"',
        'root ::= (("a"{1000}){1000}){1000}',
        "root ::= " + "a? " * 200 + '\na ::= "a" | "(" root ")"',
        "root ::= " + " | ".join(f'"word{i}"' for i in range(5000)) + ' | "a"',
    ],
    ids=["nested groups", "stars", "doubling", "nested counts", "optional parts", "many alternatives"],
)
def test_hostile_grammar_ends_soon(text: str) -> None:
    started = time.perf_counter()
    assert is_prefix(Grammar.from_gbnf(text), "a")
    assert time.perf_counter() - started < 10


def test_long_chain_of_rules_needs_no_recursion() -> None:
    chain = "root ::= r0\n" + "\n".join(f'r{i} ::= r{i + 1} | "b" root' for i in range(3000)) + '\nr3000 ::= "a"'
    check_texts(Grammar.from_gbnf(chain), ["a", "ba", "bba"], ["", "b", "ab"])


def test_a_mebibyte_parses_in_about_a_second() -> None:
    rule = (
        'rule-{0} ::= "select " name-{0} (", " name-{0})* (" where " [a-z0-9_]+ ("=" | "<=") [0-9]{{1,9}})? # {0}\n'
        "name-{0} ::= [A-Za-z_]+\n"
    )
    parts = [rule.format(number) for number in range(9000)]
    text = "root ::= " + " | ".join(f"rule-{number}" for number in range(9000)) + "\n" + "".join(parts)
    assert len(text) > 2**20
    started = time.perf_counter()
    rules = parse_gbnf(text)
    assert len(rules.rules) == 18_001
    assert time.perf_counter() - started < 3  # under one on the machine it was written on, when that is quiet


def test_bytes_that_are_no_character_are_never_allowed() -> None:
    grammar = Grammar.from_gbnf("root ::= [^a]+")
    for data in (b"\x80", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80", b"\xe0\x80"):
        assert not is_prefix(grammar, data)
    assert is_prefix(grammar, b"\xe2\x82")
    assert not is_text(grammar, b"\xe2\x82")


def test_llama_cpp_mode_takes_the_last_definition() -> None:
    check_texts(Grammar.from_gbnf('root ::= a\na ::= "1"\na ::= "2"', compat="llama.cpp"), ["2"], ["1"])


def test_llama_cpp_mode_keeps_its_limits() -> None:
    with pytest.raises(GrammarError, match="2000"):
        Grammar.from_gbnf('root ::= "a"{2001}', compat="llama.cpp")
    with pytest.raises(GrammarError, match="2000"):
        Grammar.from_gbnf('root ::= ("a"{0,100}){21}', compat="llama.cpp")
    check_texts(Grammar.from_gbnf('root ::= "a"{0,2001}', compat="llama.cpp"), ["a" * 2500], [])


def test_llama_cpp_mode_lets_a_grammar_go_on_for_ever() -> None:
    grammar = Grammar.from_gbnf('root ::= "a" root', compat="llama.cpp")
    assert is_prefix(grammar, "aaaa")
    assert not is_text(grammar, "aaaa")


def test_unknown_mode_is_refused() -> None:
    with pytest.raises(GrammarError, match=r"llama\.cpp"):
        Grammar.from_gbnf('root ::= "a"', compat="llama")
