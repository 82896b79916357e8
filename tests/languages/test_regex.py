"""Regular expressions: constructs one by one. ECMA-262 verdicts were checked with a JavaScript engine."""

import time
from functools import partial

import pytest
from tests.languages.texts import is_text

from scansion import Grammar
from scansion._kernel import Language
from scansion.errors import GrammarError, LimitError, UnsupportedError
from scansion.languages.regex import parse_ecma, parse_ecma_tree, parse_python
from scansion.languages.regex_syntax import Alternation, Assertion, CharacterClass, Literal, Look, Repeat, Sequence


def verdicts(language: Language, accepted: list[str], refused: list[str]) -> None:
    assert [text for text in accepted if not language.matches(text)] == []
    assert [text for text in refused if language.matches(text)] == []


@pytest.mark.parametrize(
    ("pattern", "accepted", "refused"),
    [
        ("[aeiou]{2}", ["moon", "ea", "a good xyz"], ["bat", "sky", ""]),
        ("^abc$", ["abc"], ["abc\n", "xabc", "abcd"]),
        ("^alpha|beta|rc$", ["alphabet", "a beta b", "src"], ["an alpha", "rc2"]),
        ("(^a|b$)", ["ax", "xb", "a"], ["xa", "bx"]),
        (r"^\d$", ["0", "9"], ["\u07c0", "a"]),
        (r"^\w$", ["_", "z"], ["\u00e9", "-"]),
        (r"^\W$", ["\u00e9", "😀"], ["a"]),
        (r"^\s$", list(" \t\n\v\f\r\u00a0\ufeff\u2028\u2029\u2003\u3000"), ["\u200b", "\u0085", "\u180e", "a"]),
        (r"^.$", ["a", "😀", "\u0085"], ["\n", "\r", "\u2028", "\u2029", "ab"]),
        (r"^\cC\t$", ["\x03\t"], ["\\cC\t"]),
        (r"^\u0041\u{1F600}\uD83D\uDE00\x42\0$", ["A😀😀B\0"], ["A😀B\0"]),
        (r"^\p{Lu}\p{Ll}+$", ["Émile", "Ωmega", "Bo"], ["émile", "A1", "B"]),
        (r"^\p{digit}+$", ["42", "\u09ea\u09e8"], ["-%#"]),
        (r"\p{Letter}cole", ["l'ecole", "l'école"], ["L'ÉCOLE"]),
        (r"^\p{Script=Greek}+$", ["αβγ"], ["abc", "αb"]),
        (r"^\p{scx=Hiragana}$", ["あ", "ー"], ["ア"]),
        (r"^\P{L}$", ["1", " "], ["a"]),
        (r"^[^\P{L}a]$", ["b", "é"], ["a", "1"]),
        (r"^[\w-.]+$", ["a-b.c"], ["a b"]),
        (r"^[]$", [], ["", "a"]),
        (r"^[^]$", ["\n", "a"], ["", "ab"]),
        (r"^[\b\-\]]+$", ["\x08-]"], ["b"]),
        (r"^\-\_\:\/\<\%\&$", [r"-_:/<%&"], [r"\-"]),
        (r"^{a}]$", ["{a}]"], ["a"]),
        (r"^a{,2}$", ["a{,2}"], ["aa", ""]),
        (r"^(?:ab){2,3}?$", ["abab", "ababab"], ["ab", "abababab"]),
        (r"^(?<year>\d{4})-(\d\d)$", ["2031-07"], ["2031-7"]),
        (r"^(?i:straße)$", ["STRAßE", "straẞe", "Straße"], ["strasse"]),
        (r"^(?i:k)$", ["k", "K", "\u212a"], ["x"]),
        (r"^(?s:.)(?-s:.)$", ["\na"], ["a\n"]),
        (r"(?m:^b$)", ["a\nb\nc", "b"], ["ab", "b c"]),
        (r"^(?=.*[A-Z])(?=.*\d).{4,8}$", ["Ab1c", "xx9Yxxxx"], ["abc1", "ABCD", "A1", "A1aaaaaaa"]),
        (r"^((?!mode)(?!Mode).)*$", ["", "mod", "a Mod"], ["mode", "the Mode"]),
        (r"^(?!.*--)[a-z-]+$", ["a-b-c"], ["a--b"]),
        (r"^(?!tag|category)$", [""], ["tag", "x"]),
        (r"(?<!un)happy", ["happy", "so happy"], ["unhappy"]),
        (r"(?<=\$)\d+", ["$5"], ["5", "€5"]),
        (r"(?<=a+)b", ["xaab"], ["b"]),
        (r"\bcat\b", ["cat", "a cat.", "cat-nap"], ["concat", "cats"]),
        (r"^(\bfoo\b ?)+$", ["foo foo", "foo "], ["foofoo"]),
        (r"a\Bb|c\B", ["ab", "cd"], ["a b", "c"]),
        (r"^(\/?(a+)($|\/))+$", ["a/aa", "/a", "a/"], ["", "a//"]),
        (r"x(?!$)", ["xy", "ax b"], ["x", "ax"]),
        (r"^(?:(?=a)[a-c]{2}){2}$", ["abac"], ["abba"]),
    ],
)
def test_ecma_patterns_search_as_with_the_u_flag(pattern: str, accepted: list[str], refused: list[str]) -> None:
    verdicts(parse_ecma(pattern), accepted, refused)


@pytest.mark.parametrize(
    ("pattern", "accepted", "refused"),
    [
        (r"[a-z]+", ["abc"], ["abc1", ""]),
        (r"(?i)Key", ["key", "KEY"], ["ke"]),
        (r"a(?i:b)c", ["abc", "aBc"], ["ABC"]),
        (r"(?s).", ["\n"], [""]),
        (r"(?x) a b # comment" + "\n c", ["abc"], ["a b c"]),
        (r"(?P<word>\w+)", ["naïve", "x_1"], ["a b"]),
        (r"\d", ["7", "\u0667"], ["a"]),
        (r"(?a:\d)|(?-u:\w)", ["7", "a"], ["\u0667", "é"]),
        (r"\Aab\Z", ["ab"], ["abc"]),
        (r"a{,2}", ["", "aa"], ["aaa"]),
        (r"[]a]", ["]", "a"], ["b"]),
        (r"[[:alpha:]_]+", ["aZ_"], ["1"]),
        (r"\pL\p{Greek}\p{^Lu}\x{41}\U0001F600\N{EM DASH}\101", ["aαbA😀—A"], ["aαBA😀—A"]),
        (r"(?#note)a", ["a"], [""]),
        (r"a*+b", ["b", "aab"], ["a"]),
        (r"a*+ab", [], ["ab", "aab"]),
        (r"\d{1,3}+\d", ["1234"], ["12", "123"]),
        (r"(?>ab)c|(?>a+)c", ["abc", "aac"], ["bc"]),
        (r"(?>a*?)b|(?>c{2,3}?)c|(?>d??)e", ["b", "ccc", "e"], ["ab", "cccc", "de"]),
        (r".*?(?<=end)", ["the end"], ["ended"]),
    ],
)
def test_python_patterns_match_the_whole_text(pattern: str, accepted: list[str], refused: list[str]) -> None:
    verdicts(parse_python(pattern), accepted, refused)


MEANINGS = {"ecma": partial(parse_ecma, search=False), "python": parse_python, "rust": partial(parse_python, rust=True)}


@pytest.mark.parametrize(
    ("pattern", "text", "matched"),
    [
        (r"\d", "7", "ecma python rust"),
        (r"\d", "\u0667", "python rust"),
        (r"\d", "²", ""),
        (r"\w", "_", "ecma python rust"),
        (r"\w", "é", "python rust"),
        (r"\w", "²", "python"),
        (r"\w", "\u0301", "rust"),
        (r"\w", "\u203f", "rust"),
        (r"\w", "\u200d", "rust"),
        (r"\w+", "हिन्दी", "rust"),
        (r"\s", "\v", "ecma python rust"),
        (r"\s", "\u3000", "ecma python rust"),
        (r"\s", "\ufeff", "ecma"),
        (r"\s", "\x1c", "python"),
        (r"\s", "\x85", "python rust"),
        (r"\W", "\u0301", "ecma python"),
        (r".\b.", "a\u0301", "ecma python"),
        (r".\B.", "aé", "python rust"),
        (r"[^\W_]", "\u0301", "rust"),
        (r".", "\r", "python rust"),
        (r".", "\u2028", "python rust"),
        (r"(?i:k)", "\u212a", "ecma python rust"),
    ],
)
def test_classes_mean_what_each_front_end_says(pattern: str, text: str, matched: str) -> None:
    assert " ".join(name for name, parse in MEANINGS.items() if parse(pattern).matches(text)) == matched


def test_lark_reads_classes_as_rust_and_regexes_as_python() -> None:
    assert is_text(Grammar.from_lark(r"start: /\w+/"), "हिन्दी") and not is_text(Grammar.from_regex(r"\w+"), "हिन्दी")


@pytest.mark.parametrize(
    ("pattern", "offset"),
    [
        ("x[a[bc]]", 3),
        ("[^[:alpha:][b]]", 11),
        ("[]a[b]]", 3),
        ("(?x)[ab c]", 7),
        (r"\b{start}a", 0),
        ("[a&&b]", 2),
        ("xa?+", 2),
        (r"a\<b", 1),
    ],
)
def test_what_rust_reads_otherwise_is_refused(pattern: str, offset: int) -> None:
    with pytest.raises(UnsupportedError) as caught:
        parse_python(pattern, rust=True)
    assert caught.value.offset == offset


def test_an_open_bracket_in_a_class_that_only_python_can_read_is_a_character() -> None:
    for pattern in (r"[^[\]]+", "[[]", "[][]", r"[\[a]", r"x[[\]]"):
        assert parse_python(pattern, rust=True).equivalent(parse_python(pattern))


def test_unclosed_classes_are_found_in_linear_time() -> None:
    start = time.monotonic()
    with pytest.raises(GrammarError):
        parse_python("[[]" * 200_000, rust=True)
    assert time.monotonic() - start < 10


@pytest.mark.parametrize(
    ("pattern", "kind", "offset", "construct"),
    [
        ("(a", GrammarError, 0, "("),
        ("a)", GrammarError, 1, ")"),
        ("x[a", GrammarError, 1, "["),
        ("a**", GrammarError, 2, "quantifier"),
        ("*a", GrammarError, 0, "quantifier"),
        ("^*", GrammarError, 1, "quantifier"),
        ("a{3,2}", GrammarError, 1, "quantifier"),
        ("[z-a]", GrammarError, 1, "character range"),
        (r"\p{Klingon}", GrammarError, 0, r"\p{Klingon}"),
        (r"ab\A", GrammarError, 2, r"\A"),
        (r"\a", GrammarError, 0, r"\a"),
        ("(?i)a", GrammarError, 0, "(?"),
        ("(?P<n>a)", GrammarError, 0, "(?"),
        ("(?>a)", GrammarError, 0, "(?"),
        ("a\\", GrammarError, 1, "\\"),
        (r"\u12", GrammarError, 0, r"\u"),
        ("\ud800", GrammarError, 0, "surrogate"),
        (r"(a)\1", UnsupportedError, 3, r"\1"),
        (r"[\p{L}--\d]", UnsupportedError, 6, "--"),
        (r"(?<n>a)\k<n>", UnsupportedError, 7, r"\k"),
    ],
)
def test_ecma_errors_have_offset_and_construct(pattern: str, kind: type[GrammarError], offset: int, construct: str) -> None:
    with pytest.raises(GrammarError) as caught:
        parse_ecma(pattern)
    assert (type(caught.value), caught.value.offset, caught.value.construct) == (kind, offset, construct)


@pytest.mark.parametrize(
    ("pattern", "kind", "offset"),
    [
        (r"(a)\1", UnsupportedError, 3),
        ("(?P<n>a)(?P=n)", UnsupportedError, 8),
        ("(a)(?(1)b|c)", UnsupportedError, 3),
        ("x(?R)", UnsupportedError, 1),
        ("(ab)*+", UnsupportedError, 0),
        ("(?>a|ab)c", UnsupportedError, 0),
        ("[a&&b]", UnsupportedError, 2),
        (r"\q", GrammarError, 0),
        (r"[\w-a]", GrammarError, 3),
        ("(?P<n>a)(?P<n>b)", GrammarError, 8),
        ("(?z)a", GrammarError, 0),
    ],
)
def test_python_errors_have_an_offset(pattern: str, kind: type[GrammarError], offset: int) -> None:
    with pytest.raises(GrammarError) as caught:
        parse_python(pattern)
    assert (type(caught.value), caught.value.offset) == (kind, offset)


@pytest.mark.parametrize("pattern", ["a{1000001}", "(" * 101 + ")" * 101, "x" * ((1 << 20) + 1), r"(?:(?!ab).){1,30000}\b"])
def test_bounds_are_limit_errors(pattern: str) -> None:
    with pytest.raises(LimitError) as caught:
        parse_ecma(pattern)
    assert caught.value.allowed


def test_large_counts_are_kept_as_counts() -> None:
    language = parse_ecma("^(?!.*foo)[a-z]{0,1000000}$")
    verdicts(language, ["", "fo", "x" * 1000], ["a foo", "xfoox"])
    verdicts(parse_ecma("^(?:abc){2,333333}$"), ["abc" * 2, "abc" * 5000], ["abc", "abc" * 5000 + "a"])


def test_languages_are_remembered() -> None:
    assert parse_ecma("^[a-z]+$") is parse_ecma("^[a-z]+$")
    assert parse_ecma("^[a-z]+$") == parse_python("[a-z]+")


def test_the_tree_keeps_what_converters_need() -> None:
    digits = CharacterClass(((0x30, 0x39),))
    assert parse_ecma_tree(r"^ab\.\d{2,}?(?:x|)$") == Sequence(
        (
            Assertion("text_start"),
            Literal("ab."),
            Repeat(digits, 2, None),
            Alternation((Literal("x"), Sequence(()))),
            Assertion("text_end"),
        )
    )
    assert parse_ecma_tree("(?<!a)[b]") == Sequence((Look(Literal("a"), ahead=False, negative=True), Literal("b")))
    assert parse_ecma_tree("ab*") == Sequence((Literal("a"), Repeat(Literal("b"), 0, None)))


@pytest.mark.parametrize("pattern", ["(a*)*" * 20_000, r"(?:a?[b]*|c?)" * 1001, "(?=a?)b?" * 1001])
def test_long_runs_of_optional_parts_meet_a_limit(pattern: str) -> None:
    with pytest.raises(LimitError) as caught:
        Grammar.from_regex(pattern)
    assert caught.value.limit == "optional_parts"
    assert "at offset" in str(caught.value) or "|" in pattern


@pytest.mark.parametrize("pattern", ["." * 200_001, "(?i)" + "ab" * 100_001, "a{" * 200_001, "(?:a|b)" * 70_000])
def test_patterns_of_too_many_items_meet_a_limit(pattern: str) -> None:
    with pytest.raises(LimitError) as caught:
        parse_python(pattern)
    assert caught.value.limit == "pattern_items"


def test_many_classes_are_read_quickly() -> None:
    started = time.process_time()
    assert parse_python("[" + r"\w\P{Lu}" * 100_000 + "]").matches("é")
    Grammar.from_regex(r"\p{L}\p{Greek}\P{Lu}" * 5000)
    Grammar.from_regex(r"[\w\d\s]" * 50_000)
    assert time.process_time() - started < 3
