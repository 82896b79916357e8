"""``date``, ``time``, ``date-time`` and ``duration`` (RFC 3339), with the calendar and leap seconds.

A leap second ends a month in UTC (RFC 3339, section 5.7 and appendix D), so second 60 is allowed exactly where the local time
less the offset is 23:59; and in ``date-time`` only where that UTC day is the last of its month. Its offset must be in quarters
of an hour, as every offset in use since the first leap second (1972) has been: else an automaton would have to remember 1,440
local times. Years are 0000 to 9999, leap years Gregorian throughout.
"""

from __future__ import annotations

import functools

from scansion._kernel import Language
from scansion.json_schema.format_rules import either, rule, sequence

__all__ = ["date", "date_time", "duration", "time"]

_HOUR = r"(?:[01][0-9]|2[0-3])"
_SIXTY = r"[0-5][0-9]"
_FRACTION = r"(?:\.[0-9]+)?"
_QUARTERS = (0, 15, 30, 45)
_LEAP_YEAR = r"(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_LONG_MONTH = r"(?:0[13578]|1[02])"
_SHORT_MONTH = r"(?:0[469]|11)"


@functools.cache
def date() -> Language:
    """RFC 3339 ``full-date``."""
    common = rf"[0-9]{{4}}-(?:{_LONG_MONTH}-(?:0[1-9]|[12][0-9]|3[01])|{_SHORT_MONTH}-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    return either(common, rf"{_LEAP_YEAR}-02-29")


@functools.cache
def _ordinary_time() -> Language:
    return rule(rf"{_HOUR}:{_SIXTY}:{_SIXTY}{_FRACTION}(?:[Zz]|[+-]{_HOUR}:{_SIXTY})")


@functools.cache
def _leap_second_same_day() -> Language:
    """Second 60 of 23:59 UTC, local time being on the same day: no offset, or one behind UTC."""
    # 23:59 less the offset is the local time: hours and minutes are related apart, as nothing is carried.
    hours = [_second_60(f"{hour:02}", None, "-", f"{23 - hour:02}", None) for hour in range(24)]
    minutes = [_second_60(None, f"{59 - quarter}", "-", None, f"{quarter:02}") for quarter in _QUARTERS]
    return either(rf"23:59:60{_FRACTION}(?:[Zz]|\+00:00)", Language.intersection([Language.union(hours), Language.union(minutes)]))


@functools.cache
def _leap_second_next_day() -> Language:
    """Second 60 of 23:59 UTC, local time being ahead on the next day: the offset is the local time and a minute."""
    hours = [_second_60(f"{hour:02}", None, "+", f"{hour:02}", None) for hour in range(24)]
    minutes = [_second_60(None, f"{quarter - 1}", "+", None, f"{quarter}") for quarter in _QUARTERS[1:]]
    carried = [_second_60(f"{hour:02}", "59", "+", f"{hour + 1:02}", "00") for hour in range(23)]
    return Language.union([Language.intersection([Language.union(hours), Language.union(minutes)]), *carried])


def _second_60(hour: str | None, minute: str | None, sign: str, offset_hour: str | None, offset_minute: str | None) -> Language:
    """A time in second 60 with an offset; None: any hour or minute."""
    before = [rule(_HOUR) if hour is None else Language.literal(hour), Language.literal(":")]
    before.append(rule(_SIXTY) if minute is None else Language.literal(minute))
    after = [rule(_HOUR) if offset_hour is None else Language.literal(offset_hour), Language.literal(":")]
    after.append(rule(_SIXTY) if offset_minute is None else Language.literal(offset_minute))
    return Language.concat([*before, rule(rf":60{_FRACTION}"), Language.literal(sign), *after])


@functools.cache
def time() -> Language:
    """RFC 3339 ``full-time``."""
    return either(_ordinary_time(), _leap_second_same_day(), _leap_second_next_day())


@functools.cache
def date_time() -> Language:
    """RFC 3339 ``date-time``."""
    common_year = Language.intersection([rule("[0-9]{4}"), rule(_LEAP_YEAR).complement()])
    month_end = either(
        rf"[0-9]{{4}}-(?:{_LONG_MONTH}-31|{_SHORT_MONTH}-30)", rf"{_LEAP_YEAR}-02-29", sequence(common_year, Language.literal("-02-28"))
    )
    month_start = r"[0-9]{4}-(?:0[1-9]|1[0-2])-01"
    return either(
        sequence(date(), "[Tt]", _ordinary_time()),
        sequence(month_end, "[Tt]", _leap_second_same_day()),
        sequence(month_start, "[Tt]", _leap_second_next_day()),
    )


@functools.cache
def duration() -> Language:
    """RFC 3339 appendix A ``duration``: units in order without gaps; weeks alone."""
    seconds = "[0-9]+S"
    minutes = f"[0-9]+M(?:{seconds})?"
    times = f"T(?:[0-9]+H(?:{minutes})?|{minutes}|{seconds})"
    days = "[0-9]+D"
    months = f"[0-9]+M(?:{days})?"
    dates = f"(?:{days}|{months}|[0-9]+Y(?:{months})?)"
    return rule(f"P(?:{dates}(?:{times})?|{times}|[0-9]+W)")
