"""Formats: words in and out, and calendars and addresses against the standard library."""

import datetime
import ipaddress
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.json_schema.judge import takes

from scansion.json_schema.formats import FORMATS, format_language

ACCEPTED = {
    "date": ["2031-07-04", "2032-02-29", "2000-02-29", "0001-01-01", "9999-12-31"],
    "time": [
        "07:05:09Z",
        "07:05:09.123456789+05:30",
        "23:59:60z",
        "15:59:60.5-08:00",
        "05:29:60+05:30",
        "00:14:60+00:15",
        "12:00:00-00:00",
    ],
    "date-time": [
        "2031-07-04T07:05:09Z",
        "2032-02-29t23:59:59.25-12:00",
        "2016-12-31T23:59:60Z",
        "2017-01-01T08:59:60+09:00",
        "2016-12-31T18:59:60-05:00",
        "2015-06-30T23:59:60+00:00",
        "2023-02-28T23:59:60Z",
    ],
    "duration": ["P3Y", "P1Y6M", "P2W", "PT90M", "PT1H30M", "P1DT12H", "P0D", "PT0S", "P007D"],
    "email": ["ada@example.org", "a.b+c@x", '"a b\\" @"@example.org', "x@[192.0.2.1]", "x@[IPv6:2001:db8::1]", "!#$%&'*+-/=?^_`{|}~@a-b.c"],
    "idn-email": ["ada@example.org", "jürgen@müller.example", "用户@例子.example", '"ü"@x', "ü" * 32 + "@x"],
    "hostname": ["example.org", "a", "3com.example", "x-y.z", "a" * 63 + ".b", ".".join(["a" * 49] * 5)],
    "idn-hostname": [
        "example.org",
        "bücher.example",
        "例子。example",
        "παράδειγμα",
        "אבג.דה",
        "l·l",
        "か・な",
        "क्‍ष",
        "ß.example",
    ],
    "ipv4": ["0.0.0.0", "255.255.255.255", "10.0.200.7"],
    "ipv6": ["::", "::1", "2001:db8::7", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::1:2:3:4:5:6:7", "::ffff:192.0.2.1", "ABCD::1.2.3.4"],
    "uri": ["https://user@example.org:8080/a/b;c?d=e#f", "urn:isbn:0451450523", "mailto:a@b", "http://[2001:db8::7]/", "a:", "file:///etc"],
    "uri-reference": ["", "#top", "?q", "//host/p", "../up", "./a:b", "a/b:c", "https://example.org/%7Ea"],
    "iri": ["https://exämple.org/ü?ö#ä", "urn:例"],
    "iri-reference": ["ü", "#ä", "/例/?\ue000", "//例"],
    "uri-template": ["", "/users/{id}", "{?a,b*,c:30}", "{+path}/x%20y", "{%41_b.c}"],
    "json-pointer": ["", "/", "/a~0b~1c//0", "/ü\n"],
    "relative-json-pointer": ["0", "12#", "3/a~1b", "0/"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF"],
    "regex": ["", "^a+$", "(?:a|b){2,10}?", "[^a-z0-9-]", r"\p{Lu}\d\.\u0041", "(?=x(y(z)))", "(?<year>[0-9]{4})", "[]", "[^]", "a{9,10}"],
}

REFUSED = {
    "date": ["2031-02-29", "1900-02-29", "2031-04-31", "2031-00-10", "2031-13-01", "31-07-04", "20310704", "2031-07-04Z", "2031-7-4", ""],
    "time": ["07:05:09", "24:00:00Z", "07:60:00Z", "07:05Z", "23:59:61Z", "22:59:60Z", "05:30:60+05:30", "07:05:09+24:00", "07:05:09.Z"],
    "date-time": [
        "2031-07-04 07:05:09Z",
        "2031-02-29T07:05:09Z",
        "2031-07-04T07:05:09",
        "2016-12-30T23:59:60Z",
        "2016-12-31T08:59:60+09:00",
        "2017-01-01T18:59:60-05:00",
        "2024-02-28T23:59:60Z",
        "2031-07-04T07:05:09Z\n",
    ],
    "duration": ["P", "PT", "P1Y2D", "P1W2D", "PT1H2S", "P1.5D", "1D", "P1DT", "p1d"],
    "email": ["ada", "@x", "a@", ".a@x", "a..b@x", "a b@x", "a@-x", "a@x_y", "x@[300.0.0.1]", "x@[IPv6:1::2::3]", "a" * 65 + "@x", "ü@x"],
    "idn-email": ["ü", "ü@", "@ü", "ü ü@x", "ü" * 33 + "@x", "a＠x"],
    "hostname": ["", "-a", "a-", "a..b", "a.", "a_b", "a" * 64, ".".join(["a" * 63] * 4), "xn--bcher-kva", "bücher"],
    "idn-hostname": [
        "",
        "-ü",
        "ü-",
        "aa--ü",
        "Bü",
        "ü..a",
        "a·b",
        "・",
        "ب٠۰",
        "क‍ष",
        "aא",
        "0א",
        "1a.א",
        "e\u0301x",
        "\u0301ü",
    ],
    "ipv4": ["1.2.3", "1.2.3.4.5", "256.0.0.1", "01.2.3.4", "1.2.3.4 ", "0x1.2.3.4"],
    "ipv6": ["", ":", "1:2:3:4:5:6:7", "1::2::3", "12345::", ":::", "1:2:3:4:5:6:7:8:9", "::1.2.3", "::01.2.3.4", "[::1]", "fe80::1%eth0"],
    "uri": ["", "//host", "a b:c", "1a:b", "http://a b", "http://[::1", "http://a:b/", "http://x/%4", "http://x/ü", "http://x/{a}"],
    "uri-reference": ["a:b c", "1:b", "\\x", "%", "//a:b", "/[x]", "ü"],
    "iri": ["ü", "https://ü/ ", "https://ü#\ue000", "https://\ufdd0"],
    "iri-reference": [" ", "\\", "ü%"],
    "uri-template": ["{", "}", "{}", "{a", "a b", "{a:0}", "{a:10000}", "{a..b}", "{a b}", "{a,}"],
    "json-pointer": ["a", "#/a", "/~", "/~2", "/a~"],
    "relative-json-pointer": ["", "-1", "01", "0##", "0#/a", "/a", "1~0"],
    "uuid": ["", "123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400g", "{123e4567-e89b-12d3-a456-426614174000}"],
    "regex": ["(", ")", "[", "a**", "{2}", "*", "a{3,2}", "[z-a]", r"\a", "(?i)a", "(?P<n>a)", r"\u12", "(?<n>a)(?<n>b)", "a{20,19}", "x]"],
}


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_words_in_and_out(name: str) -> None:
    language = format_language(name)
    assert language is not None
    assert [word for word in ACCEPTED[name] if not language.matches(word)] == []
    assert [word for word in REFUSED[name] if language.matches(word)] == []


def test_unknown_formats_are_annotations() -> None:
    assert format_language("postcode") is None
    assert format_language("Date") is None


def test_hostname_reads_punycode_since_draft_7() -> None:
    old, new = format_language("hostname", 6), format_language("hostname", 7)
    assert old is not None and new is not None
    assert old.matches("xn--x") and not new.matches("xn--x")


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 9999), st.integers(0, 13), st.integers(0, 32))
def test_dates_are_those_of_the_calendar(year: int, month: int, day: int) -> None:
    try:
        # Four hundred years later is the same calendar, and Python has no year 0.
        datetime.date(year % 400 + 400, month, day)
        exists = True
    except ValueError:
        exists = False
    language = format_language("date")
    assert language is not None and language.matches(f"{year:04}-{month:02}-{day:02}") == exists


@settings(max_examples=300, deadline=None)
@given(st.datetimes(), st.integers(-95, 95))
def test_date_times_as_python_writes_them(moment: datetime.datetime, quarters: int) -> None:
    zone = datetime.timezone(datetime.timedelta(minutes=15 * quarters))
    language = format_language("date-time")
    assert language is not None and language.matches(moment.replace(tzinfo=zone).isoformat())


@settings(max_examples=300, deadline=None)
@given(st.datetimes(min_value=datetime.datetime(1972, 1, 1), max_value=datetime.datetime(2400, 1, 1)), st.integers(-95, 95))
def test_leap_seconds_end_a_month_in_utc(day: datetime.datetime, quarters: int) -> None:
    language, times = format_language("date-time"), format_language("time")
    assert language is not None and times is not None
    utc = day.replace(hour=23, minute=59, second=59, microsecond=0, tzinfo=datetime.UTC)
    local = utc.astimezone(datetime.timezone(datetime.timedelta(minutes=15 * quarters)))
    written = f"{local:%Y-%m-%dT%H:%M}:60{local.isoformat()[19:]}"
    last_of_month = (utc + datetime.timedelta(days=1)).day == 1
    assert language.matches(written) == last_of_month
    assert times.matches(written[11:])
    wrong = (local + datetime.timedelta(hours=1)).strftime("%H:%M") + written[16:]
    assert not times.matches(wrong)


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.ip_addresses(v=6).map(lambda a: a.compressed), st.ip_addresses(v=6).map(lambda a: a.exploded), st.text("0:1f.", max_size=20)
    )
)
def test_ipv6_agrees_with_the_standard_library(text: str) -> None:
    try:
        ipaddress.IPv6Address(text)
        valid = True
    except ValueError:
        valid = False
    language = format_language("ipv6")
    assert language is not None and language.matches(text) == valid


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.ip_addresses(v=4).map(str), st.text("0125.", max_size=12)))
def test_ipv4_agrees_with_the_standard_library(text: str) -> None:
    try:
        ipaddress.IPv4Address(text)
        valid = True
    except ValueError:
        valid = False
    language = format_language("ipv4")
    assert language is not None and language.matches(text) == valid


@given(st.uuids())
def test_uuids(value: uuid.UUID) -> None:
    language = format_language("uuid")
    assert language is not None and language.matches(str(value))


@settings(max_examples=200, deadline=None)
@given(st.from_regex(r"[a-z(|)*+?\[\]{}0-9,.^$\\-]{0,8}", fullmatch=True))
def test_every_regex_taken_is_one_the_parser_takes(text: str) -> None:
    from scansion.languages.regex import parse_ecma_tree

    language = format_language("regex")
    if language is not None and language.matches(text):
        parse_ecma_tree(text)


def test_hostnames_of_the_drafts_before_punycode_take_it_as_a_label():
    old = {"$schema": "http://json-schema.org/draft-04/schema#", "format": "hostname"}
    new = {"$schema": "http://json-schema.org/draft-07/schema#", "format": "hostname"}
    assert takes(old, '"xn--4gbwdl.xn--wgbh1c"')
    assert not takes(new, '"xn--4gbwdl.xn--wgbh1c"')
