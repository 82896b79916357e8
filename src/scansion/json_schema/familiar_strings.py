"""Strings that schemas ask for most: what tokens do in them is looked up once, when a vocabulary is made."""

from __future__ import annotations

from collections.abc import Iterator

from scansion._kernel import Language
from scansion.json_schema.formats import format_language

__all__ = ["familiar_strings"]

_LONGEST = 64  # characters of a string of bounded length

_SAMPLES = {
    "date": ["2022-01-15", "1999-12-31", "2024-02-29", "2021-06-30"],
    "date-time": ["2022-01-15T10:30:00Z", "1999-12-31T23:59:59.123456+02:00", "2024-02-28T08:00:00-05:30", "2021-06-30t00:45:15z"],
    "email": ["john.doe@example.com"],
    "hostname": ["www.example.com"],
    "ipv4": ["192.168.10.1", "8.8.4.255"],
    "ipv6": ["2001:0db8:85a3:0000:0000:8a2e:0370:7334", "fe80::1"],
    "time": ["10:30:00Z", "23:59:59.123+02:00"],
    "uri": ["https://www.example.com/path/to/page.html?key=value#part", "urn:isbn:0451450523", "http://localhost:8080/"],
    "uri-reference": ["/path/to?key=value#part"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000"],
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
