"""Number languages against exact arithmetic on spellings."""

import itertools
import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.json_schema.judge import instances

import scansion
from scansion.errors import GrammarError, LimitError, UnsupportedError
from scansion.json_schema.numbers import MAX_BOUND_DIGITS, decidable_numbers, number_language

JSON_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
SHORT_SPELLINGS = [
    text for length in range(1, 6) for text in map("".join, itertools.product("-0125.e+", repeat=length)) if JSON_NUMBER.fullmatch(text)
]
LIMITS = [
    Fraction(text) for text in ("0", "1", "-1", "5", "10", "99.5", "0.1", "0.25", "-0.5", "-4", "123.456", "1e-5", "1e22", "0.01", "2")
]
STEPS = [Fraction(text) for text in ("1", "2", "5", "10", "0.01", "2.5", "3", "1e-7", "1000000", "0.3", "6.75", "12", "0.125", "40")]


def satisfies(text: str, limits: dict[str, object]) -> bool:
    """The verdict by exact arithmetic."""
    value = Fraction(text)
    low, high, step = limits.get("minimum"), limits.get("maximum"), limits.get("multiple_of")
    if isinstance(low, Fraction) and (value < low or (value == low and limits.get("exclusive_minimum"))):
        return False
    if isinstance(high, Fraction) and (value > high or (value == high and limits.get("exclusive_maximum"))):
        return False
    if isinstance(step, Fraction) and (value / step).denominator != 1:
        return False
    if limits.get("integer"):
        return value.denominator == 1 and bool(limits.get("integer_fraction") or re.fullmatch(r"-?\d+", text))
    return True


def check(text: str, limits: dict[str, object]) -> None:
    accepted = number_language(**limits).matches(text)
    if decidable_numbers().matches(text):
        assert accepted == satisfies(text, limits), (text, limits)
    else:
        assert not accepted or satisfies(text, limits), (text, limits)


@st.composite
def limit_sets(draw: st.DrawFn) -> dict[str, object]:
    limits: dict[str, object] = {}
    if draw(st.booleans()):
        limits |= {"minimum": draw(st.sampled_from(LIMITS)), "exclusive_minimum": draw(st.booleans())}
    if draw(st.booleans()):
        limits |= {"maximum": draw(st.sampled_from(LIMITS)), "exclusive_maximum": draw(st.booleans())}
    if draw(st.booleans()):
        limits["multiple_of"] = draw(st.sampled_from(STEPS))
    if draw(st.booleans()):
        limits |= {"integer": True, "integer_fraction": draw(st.booleans())}
    return limits


@settings(max_examples=60, deadline=None)
@given(limit_sets())
def test_short_spellings_agree_with_exact_arithmetic(limits: dict[str, object]) -> None:
    for text in SHORT_SPELLINGS:
        check(text, limits)


@settings(max_examples=300, deadline=None)
@given(limit_sets(), st.floats(allow_nan=False, allow_infinity=False), st.integers(), st.from_regex(r"-?[0-9]\.[0-9]{1,8}", fullmatch=True))
def test_numbers_as_python_writes_them_agree_with_exact_arithmetic(
    limits: dict[str, object], real: float, whole: int, decimal: str
) -> None:
    for text in (repr(real), str(whole), decimal, f"{whole % 10**6}.0"):
        assert decidable_numbers().matches(text)
        check(text, limits)


@settings(max_examples=200, deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**9), max_value=10**9), st.integers(-3, 3))
def test_values_next_to_a_bound(bound: object, steps: int) -> None:
    limit = Fraction(str(bound))
    near = limit + Fraction(steps, 10_000)
    text = f"{float(near):.4f}" if abs(near) < 10**9 else str(near.numerator)
    if Fraction(text) == near:
        for exclusive in (False, True):
            check(text, {"minimum": limit, "exclusive_minimum": exclusive})
            check(text, {"maximum": limit, "exclusive_maximum": exclusive})


@pytest.mark.parametrize(
    ("limits", "accepted", "refused"),
    [
        ({"minimum": -4, "exclusive_minimum": True, "maximum": 5}, "-0.5 0.1 -3.9999 4.999 5 5.0", "-4 -4.0 5.7 -12 5.0001"),
        ({"integer": True, "multiple_of": 5, "minimum": 0, "maximum": 20}, "0 15 20 -0", "7 25 -5 15.0"),
        ({"minimum": 0}, "0 -0 -0.00 1e5 12.5e3 -0e7", "-1 -0.001 -1e-9 00 +1 .5 1."),
        ({"minimum": Fraction("1e308")}, "1e308 1e+309 1.5E308 2" + "0" * 308, "1e307 9.99e307 1 -1e309"),
        ({"multiple_of": Fraction("0.01")}, "0.01 12.5 3 1e-02 1.25e1 1e+22 0.010", "0.001 1e-3 1.234"),
        ({"multiple_of": Fraction("1e308")}, "1e308 3e308 0 1" + "0" * 308, "1e307 1 1.5e308"),
        ({"integer": True, "integer_fraction": True}, "1 1.0 1e2 1.5e1 -0.0 1.50e+1", "1.5 1e-1 1.55e1"),
        ({"minimum": 7, "maximum": 7}, "7 7.0 7.000 7e0 7E-00", "7.01 6.99 70 0.7 7e1"),
        ({"exclusive_minimum": True, "minimum": 18446744073709551615}, "18446744073709551616", "18446744073709551615 18446744073709551600"),
        (
            {"exclusive_maximum": True, "maximum": Fraction("972783798187987123879878123.18878137")},
            "972783798187987123879878123.188781369",
            "972783798187987123879878123.188781371",
        ),
    ],
)
def test_documented_cases(limits: dict[str, object], accepted: str, refused: str) -> None:
    language = number_language(**limits)
    assert [text for text in accepted.split() if not language.matches(text)] == []
    assert [text for text in refused.split() if language.matches(text)] == []


@pytest.mark.parametrize(
    "limits",
    [
        {"minimum": 5, "maximum": 4},
        {"minimum": 5, "maximum": 5, "exclusive_maximum": True},
        {"minimum": 1, "maximum": 4, "multiple_of": 5},
        {"minimum": Fraction("0.1"), "maximum": Fraction("0.9"), "integer": True},
    ],
)
def test_unsatisfiable_limits_are_the_empty_language(limits: dict[str, object]) -> None:
    assert number_language(**limits).is_nothing


def test_complement_within_decidable_numbers_is_exact() -> None:
    limits: dict[str, object] = {"minimum": Fraction("2.5"), "multiple_of": Fraction("0.5")}
    language = number_language(**limits)
    for text in SHORT_SPELLINGS:
        if decidable_numbers().matches(text):
            assert language.complement().matches(text) != satisfies(text, limits)


@pytest.mark.parametrize("step", ["6.75", "2.125", "0.0375", "0.35", "9.5", "0.0625", "1.3", "37", "0.9"])
def test_decimals_beside_the_multiples_of_a_step(step: str) -> None:
    exact, places = Fraction(step), len(step.partition(".")[2])
    taken = 0
    for count in (*range(40), 123, 997, 10**6 + 1):
        digits = str(int(exact * count * 10**places)).rjust(places + 1, "0")
        text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
        taken += number_language(multiple_of=exact).matches(text)
        point = "" if "." in text else "."
        for spelled in (
            text,
            f"{text}{point}0",
            f"{text}{point}01",
            f"{text[:-1]}{(int(text[-1]) + 1) % 10}",
            f"1{text}",
            text[:-1],
            f"-{text}",
        ):
            if JSON_NUMBER.fullmatch(spelled):
                check(spelled, {"multiple_of": exact})
    assert taken == 43


def test_steps_with_many_residues_are_factored_or_refused() -> None:
    assert number_language(multiple_of=10**300).matches("0")
    language = number_language(multiple_of=1024 * 243 * 7, integer=True)
    assert language.matches(str(1024 * 243 * 7 * 12345))
    assert not language.matches(str(1024 * 243 * 7 * 12345 + 7))
    with pytest.raises(LimitError, match="1,000,003"):
        number_language(multiple_of=1_000_003)


def test_limits_that_cannot_be_used_are_named() -> None:
    with pytest.raises(GrammarError, match="above 0"):
        number_language(multiple_of=0)
    with pytest.raises(UnsupportedError, match="finite decimal"):
        number_language(minimum=Fraction(1, 3))
    with pytest.raises(LimitError, match="digits"):
        number_language(maximum=10 ** (MAX_BOUND_DIGITS + 1))


def test_multiples_too_intricate_together_are_refused_by_pointer() -> None:
    from scansion import Grammar

    multiples = [{"multipleOf": m} for m in (997, 991, 983)]
    with pytest.raises(UnsupportedError) as caught:
        Grammar.from_json_schema({"properties": {"n": {"type": "number", "minimum": 3, "allOf": multiples}}})
    assert caught.value.construct == "multipleOf"
    assert caught.value.pointer == "/properties/n"


def test_many_steps_between_bounds_are_tried_number_by_number():
    schema = {
        "type": "number",
        "exclusiveMinimum": -400,
        "exclusiveMaximum": 0,
        "allOf": [
            {"anyOf": [{"multipleOf": step} for step in (33, 12, 4, 16, 77)]},
            {"anyOf": [{"not": {"anyOf": [{"multipleOf": 6}, {"multipleOf": 7}]}}, *({"multipleOf": step} for step in (25, 42, 51))]},
            {"anyOf": [{"not": {"anyOf": [{"multipleOf": 3}, {"multipleOf": 2}]}}, *({"multipleOf": step} for step in (101, 102, 103))]},
        ],
    }
    instances(schema, [-204, -204.0], [-102, -206, 204, -4, -0.5, -200])


def test_what_many_steps_leave_nothing_of_is_refused():
    steps = [{"multipleOf": step} for step in (6.75, 19, 9.5, 2.125)]
    with pytest.raises(scansion.UnsatisfiableError):
        scansion.Grammar.from_json_schema({"type": "number", "minimum": 1, "maximum": 8_000, "allOf": steps})
    instances({"type": "number", "minimum": 1, "maximum": 9_000, "allOf": steps}, [8721], [19, 6.75, 8722])
