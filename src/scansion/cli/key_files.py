"""API keys in files: one a line, ``#`` begins a comment."""

from __future__ import annotations

from pathlib import Path

from scansion.errors import RequestError

__all__ = ["first_key", "read_keys"]


def read_keys(path: Path) -> list[str]:
    """All keys of a file.

    Raises:
        RequestError: it cannot be read, holds none, or holds one that no HTTP header can.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"the key file {path} cannot be read ({error})") from None
    keys = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if not keys:
        raise RequestError(f"the key file {path} holds no key: write one a line")
    for number, key in enumerate(keys, 1):
        if not key.isascii() or not key.isprintable():
            raise RequestError(f"key {number} of {path} holds characters a header cannot: use printable ASCII")
    return keys


def first_key(path: Path | None) -> str | None:
    """The first key of a file, or None where there is no file."""
    return None if path is None else read_keys(path)[0]
