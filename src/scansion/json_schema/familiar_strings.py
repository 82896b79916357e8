"""Strings that schemas ask for most: what tokens do in them is looked up once, when a vocabulary is made."""

from __future__ import annotations

from collections.abc import Iterator

from scansion._kernel import Language
from scansion.json_schema.formats import format_language
from scansion.languages.regex import parse_ecma

__all__ = ["familiar_strings"]

_LONGEST = 64  # characters of a string of bounded length

_UUID = "123e4567-e89b-12d3-a456-426614174000"

_SAMPLES = {
    "date": ["2022-01-15", "1999-12-31", "2024-02-29", "2021-06-30"],
    "date-time": ["2022-01-15T10:30:00Z", "1999-12-31T23:59:59.123456+02:00", "2024-02-28T08:00:00-05:30", "2021-06-30t00:45:15z"],
    "email": ["john.doe@example.com", "first-last+tag.more@mail-1.co.uk"],
    "hostname": ["www.example.com"],
    "ipv4": ["192.168.10.1", "8.8.4.255"],
    "ipv6": ["2001:0db8:85a3:0000:0000:8a2e:0370:7334", "fe80::1"],
    "time": ["10:30:00Z", "23:59:59.123+02:00"],
    "uri": ["https://www.example.com/path/to/page.html?key=value#part", "urn:isbn:0451450523", "http://localhost:8080/"],
    "uri-reference": ["/path/to?key=value#part"],
    "uuid": [_UUID],
}

# Patterns as schemas have them everywhere: identifiers, digests, versions, times, words of a class of characters.
_PATTERNS = {
    r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$": _UUID,
    r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$": _UUID,
    r"^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$": _UUID,
    r"^[0-9a-fA-F]{24}$": "5f5f5f5f5f5f5f5f5f5f5f5f",
    r"^[0-9a-f]{64}$": "5f" * 32,
    r"^[0-9a-fA-F]+$": "5F",
    r"^#[0-9a-fA-F]{6}$": "#a0b1c2",
    r"^\d{4}-\d{2}-\d{2}$": "2022-01-15",
    r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$": "2022-01-15T10:30:00.000+02:00",
    r"^\d+\.\d+\.\d+$": "1.0.12",
    r"^\d+(\.\d+)*$": "1.0",
    r"^([0-9]{1,3}\.){3}[0-9]{1,3}$": "192.168.10.1",
    r"^[0-9]+$": "12",
    r"^\+?[0-9]+$": "+123",
    r"^[a-z]+$": "ab",
    r"^[a-zA-Z]+$": "Ab",
    r"^[A-Z]{3}$": "ABC",
    r"^[A-Z][A-Z0-9_]*$": "A_1",
    r"^[a-z][a-z0-9_]*$": "a_1",
    r"^[a-z][a-z0-9-]*$": "a-1",
    r"^[a-zA-Z_]\w*$": "a_1",
    r"^[a-zA-Z][a-zA-Z0-9]*$": "a1",
    r"^[a-zA-Z][\w-]*$": "a_1",
    r"^[a-z0-9]+$": "a1",
    r"^[a-zA-Z0-9]+$": "a1",
    r"^[a-z0-9-]+$": "a-1",
    r"^[a-z0-9._-]+$": "a.1",
    r"^[\w.-]+$": "a.1",
    r"^[\w.:-]+$": "a:1",
    r"^[\w./:-]+$": "a/1",
    r"^[\w\s-]+$": "a b",
    r"^[\w.+-]+@[\w.-]+$": "a.b@example.com",
    r"^\S+$": "ab",
    r"^\S+@\S+$": "a@b",
    r"^[^/]+$": "ab",
    r"^(/[^/]+)+$": "/a/b",
    r"^[^:]+:[^:]+$": "a:b",
    r"^.+$": "ab",
    r"^/": "/a",
    r"^https?://": "https://www",
    r"^https?://[^\s]+$": "https://www.example.com/a",
    r"^[A-Za-z0-9+/]*={0,2}$": "aGVsbG8=",
}


def familiar_strings() -> Iterator[tuple[Language, str]]:
    """Languages, and texts of theirs."""
    any_character = Language.char_class([(0, 0x10FFFF)])
    yield any_character.repeat(0, _LONGEST), "a" * _LONGEST
    for name, texts in _SAMPLES.items():
        language = format_language(name)
        assert language is not None
        for text in texts:
            yield language, text
    for pattern, text in _PATTERNS.items():
        yield parse_ecma(pattern), text
