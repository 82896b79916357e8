"""The ``format`` keyword: every format of the JSON Schema specification as a regular language.

Formats are checked alike in all drafts, also those a draft does not name yet; only ``hostname`` knows Punycode since draft 7. Where a
format is not regular the language is a subset, so that what is generated is valid; docs/formats.md and the modules named
``format_*`` say where.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from scansion._kernel import Language
from scansion.json_schema import format_addresses, format_dates, format_idn, format_regex, format_uris
from scansion.json_schema.format_rules import rule

__all__ = ["FORMATS", "format_language"]

_JSON_POINTER = r"(?:/(?:[^~/]|~[01])*)*"


@cache
def _uuid() -> Language:
    """RFC 4122 section 3, any version and variant."""
    return rule("[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")


@cache
def _json_pointer() -> Language:
    """RFC 6901 section 3, as a string (not the URI fragment form)."""
    return rule(_JSON_POINTER)


@cache
def _relative_json_pointer() -> Language:
    """draft-handrews-relative-json-pointer-01, section 3; the index manipulation of later drafts is not taken."""
    return rule(rf"(?:0|[1-9][0-9]*)(?:#|{_JSON_POINTER})")


_FORMATS: dict[str, Callable[[], Language]] = {
    "date": format_dates.date,
    "date-time": format_dates.date_time,
    "duration": format_dates.duration,
    "email": lambda: format_addresses.email(international=False),
    "hostname": lambda: format_addresses.hostname(punycode=True),
    "idn-email": lambda: format_addresses.email(international=True),
    "idn-hostname": lambda: format_idn.international_domain(dots=".。．｡", composed=True),
    "ipv4": format_addresses.ipv4,
    "ipv6": format_addresses.ipv6,
    "iri": lambda: format_uris.reference(international=True, relative=False),
    "iri-reference": lambda: format_uris.reference(international=True, relative=True),
    "json-pointer": _json_pointer,
    "regex": format_regex.pattern,
    "relative-json-pointer": _relative_json_pointer,
    "time": format_dates.time,
    "uri": lambda: format_uris.reference(international=False, relative=False),
    "uri-reference": lambda: format_uris.reference(international=False, relative=True),
    "uri-template": format_uris.template,
    "uuid": _uuid,
}

FORMATS = frozenset(_FORMATS)
"""Names of the formats that are checked."""


def format_language(name: str, draft: int = 2020) -> Language | None:
    """The strings of a format; None where the name is not known, which makes it an annotation.

    Args:
        name: as in the schema.
        draft: 4, 6, 7, 2019 or 2020.
    """
    if name == "hostname" and draft < 7:
        return format_addresses.hostname(punycode=False)
    build = _FORMATS.get(name)
    return None if build is None else build()
