"""The gateway's own options of a request: ``"scansion": {...}``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scansion.generation.options import DRAFT_LIMIT, DRAFT_SOURCES
from scansion.server.errors import ApiError
from scansion.server.parameters import Field, Table, read_parameters

__all__ = ["EXTENSION", "SCHEMA_OPTIONS", "Extension", "read_extension"]

MAX_RETRIES = 8

SCHEMA_OPTIONS = ("whitespace", "property_order", "spelling", "formats", "integers")

EXTENSION: Table = {
    "mode": Field("string", choices=("constrain", "assist"), about="assist: the grammar only drafts; the text is what it is without it."),
    "draft": Field("array", high=2, about="Sources of drafts: grammar, ngram."),
    "draft_max": Field("integer", low=1, high=DRAFT_LIMIT),
    "on_unsupported": Field("string", choices=("error", "validate"), about="validate: generate, check, and retry."),
    "retries": Field("integer", low=0, high=MAX_RETRIES, about="With validate; 2 where not given."),
    "finish": Field("boolean", about="Always complete within max_tokens; true where not given."),
    "friction": Field("boolean", about="Report the probability the grammar took away."),
    "whitespace": Field("string", choices=("bounded", "flexible", "spaced", "compact")),
    "property_order": Field("string", choices=("declared", "any")),
    "spelling": Field("string", choices=("canonical", "any")),
    "formats": Field("string", choices=("enforce", "annotate", "strict")),
    "integers": Field("string", choices=("plain", "any")),
}


@dataclass(frozen=True)
class Extension:
    """The options as values. ``schema_options`` are those of ``Grammar.from_json_schema`` that were given."""

    mode: str = "constrain"
    draft: tuple[str, ...] = ("grammar",)
    draft_max: int = 24
    validate: bool = False
    retries: int = 2
    finish: bool = True
    friction: bool = False
    schema_options: tuple[tuple[str, str], ...] = ()


def read_extension(value: Mapping[str, Any] | None) -> Extension:
    """Check the options.

    Raises:
        ApiError: 400 naming the option.
    """
    if value is None:
        return Extension()
    given = read_parameters(value, EXTENSION, prefix="scansion")
    for source in given.get("draft", ()):
        if source not in DRAFT_SOURCES:
            raise ApiError(
                400,
                f"scansion.draft may name {' and '.join(DRAFT_SOURCES)}, not {str(source)[:60]!r}",
                code="invalid_value",
                param="scansion.draft",
            )
    if "retries" in given and given.get("on_unsupported") != "validate":
        raise ApiError(
            400, 'scansion.retries goes with "on_unsupported": "validate"', code="conflicting_parameters", param="scansion.retries"
        )
    plain: dict[str, Any] = {name: given[name] for name in ("mode", "draft_max", "retries", "finish", "friction") if name in given}
    if "draft" in given:
        plain["draft"] = tuple(given["draft"])
    return Extension(
        **plain,
        validate=given.get("on_unsupported") == "validate",
        schema_options=tuple((name, given[name]) for name in SCHEMA_OPTIONS if name in given),
    )
