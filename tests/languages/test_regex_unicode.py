"""Unicode tables against the standard library, whose Unicode version is older: only what it assigns is compared."""

import unicodedata

import pytest

from scansion.languages import unicode_classes
from scansion.languages.regex import parse_ecma, parse_python

ASSIGNED = [c for c in map(chr, range(0x110000)) if unicodedata.category(c) not in ("Cn", "Cs")]


def members(ranges: unicode_classes.Ranges) -> set[str]:
    return {chr(c) for first, last in ranges for c in range(first, last + 1)}


def test_general_categories_agree_with_the_standard_library() -> None:
    expected: dict[str, set[str]] = {}
    for c in ASSIGNED:
        expected.setdefault(unicodedata.category(c), set()).add(c)
    everything = set(ASSIGNED)
    for category, characters in expected.items():
        ranges = unicode_classes.property_ranges(category)
        assert ranges is not None
        # A handful of characters change category between versions of Unicode.
        assert len((members(ranges) & everything) ^ characters) <= 5, category


def test_categories_partition_all_characters() -> None:
    groups = [unicode_classes.property_ranges(name) or () for name in ("L", "M", "N", "P", "S", "Z", "C")]
    assert unicode_classes.union(*groups) == unicode_classes.ANY
    assert sum(len(members(group)) for group in groups) == len(members(unicode_classes.ANY))


def test_case_folding_agrees_with_the_standard_library() -> None:
    folding: dict[str, list[str]] = {}
    for c in ASSIGNED:
        folded = c.casefold() if len(c.casefold()) == 1 else c.lower()
        folding.setdefault(folded if len(folded) == 1 else c, []).append(c)
    for group in folding.values():
        closure = members(unicode_classes.case_closure(((ord(group[0]), ord(group[0])),)))
        # Unicode 15.1 made three pairs equal; newer versions may have added a capital to a small letter.
        assert closure >= set(group), group
        assert all(c in "\u0390\u1fd3\u03b0\u1fe3\ufb05\ufb06" or unicodedata.category(c) == "Cn" for c in closure - set(group)), group


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("Script=Latin", "aé", "αд"),
        ("sc=Grek", "α", "a"),
        ("Script=Cyrillic", "д", "d"),
        ("Script=Han", "漢", "か"),
        ("Script_Extensions=Hiragana", "かー", "カ"),
        ("Script=Katakana", "カ", "か"),
        ("Script=Arabic", "ب", "א"),
        ("Script=Hebrew", "א", "ب"),
        ("Script=Thai", "ก", "k"),
        ("Script=Hangul", "한", "漢"),
        ("Script=Devanagari", "क", "ক"),
        ("Letter", "aλ", "1"),
        ("gc=Decimal_Number", "1٣", "½"),
        ("White_Space", " \u3000", "\u200b"),
        ("Emoji", "😀1", "a"),
        ("ID_Start", "aé", "1_"),
        ("Any", "a\0", ""),
        ("ASCII", "a\x7f", "é"),
    ],
)
def test_properties_by_name(name: str, inside: str, outside: str) -> None:
    within, without = parse_ecma(rf"^\p{{{name}}}$"), parse_ecma(rf"^\P{{{name}}}$")
    assert all(within.matches(c) and not without.matches(c) for c in inside)
    assert all(without.matches(c) and not within.matches(c) for c in outside)


def test_only_ascii_letters_have_a_case_under_the_flag_a() -> None:
    for pattern in ("(?ai)k", "(?i)(?a:[k])", "(?i-u)k", r"(?ai)[^\W\d_a-jl-z]"):
        assert parse_python(pattern).words(9) == ["K", "k"], pattern
    assert parse_python("(?ai)[^k]").matches("\u212a") and not parse_python("(?i)[^k]").matches("\u212a")


def test_sets_under_ignored_case_are_closed_before_negation() -> None:
    language = parse_python("(?i)[^k]")
    assert not any(language.matches(c) for c in "kK\u212a") and language.matches("x")
    assert parse_python("(?i)σ").matches("ς") and parse_python("(?i)ǆ").matches("ǅ")


def test_range_arithmetic() -> None:
    low, high = ((0x61, 0x66),), ((0x64, 0x7A),)
    assert unicode_classes.union(low, high) == ((0x61, 0x7A),)
    assert unicode_classes.intersection(low, high) == ((0x64, 0x66),)
    assert unicode_classes.difference(low, high) == ((0x61, 0x63),)
    assert unicode_classes.complement(unicode_classes.ANY) == ()
    assert unicode_classes.union([(0xD000, 0xE000)]) == ((0xD000, 0xD7FF), (0xE000, 0xE000))
