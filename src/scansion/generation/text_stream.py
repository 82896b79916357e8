"""From bytes to text that may be shown: whole characters, whole escapes, nothing past a stop text."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence

__all__ = ["TextStream"]

# A backslash that is itself escaped ends no text; an odd one does, and so does a high surrogate without its low half.
_OPEN_ESCAPE = re.compile(
    r"(?<!\\)(?:\\\\)*("
    r"\\(?:u[0-9a-fA-F]{0,3})?"
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?"
    r")\Z"
)
_LONGEST_OPEN_ESCAPE = 12


class TextStream:
    """Takes bytes as tokens bring them and gives text out exactly once.

    Held back until more bytes decide: an unfinished UTF-8 sequence, an unfinished JSON escape (``\\``, ``\\u00``, the
    first half of a surrogate pair) and what may be the beginning of a stop text.
    """

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._stops = tuple(stops)
        self._held = ""
        self._inside = False
        """A character may be unfinished."""
        self.stopped = False
        """A stop text came; nothing after it is given out."""

    def feed(self, data: bytes) -> str:
        """What can be shown now that ``data`` has come."""
        if self.stopped:
            return ""
        if not self._held and not self._stops and not self._inside and data.isascii() and b"\\" not in data:
            return data.decode("ascii")  # nothing of it can have to wait
        self._inside = not data[-1:].isascii()
        text = self._held + self._decoder.decode(data)
        keep = self._open_escape(text)
        if self._stops:
            found = [place for place in (text.find(stop) for stop in self._stops) if place >= 0]
            if found:
                self.stopped = True
                self._held = ""
                return text[: min(found)]
            keep = max(keep, self._open_stop(text))
        if not keep:
            self._held = ""
            return text
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def finish(self) -> str:
        """What is left when nothing more comes: the text so far was all there is."""
        if self.stopped:
            return ""
        text = self._held + self._decoder.decode(b"", final=True)
        self._held = ""
        return text

    @staticmethod
    def _open_escape(text: str) -> int:
        if "\\" not in text[-_LONGEST_OPEN_ESCAPE:]:
            return 0
        match = _OPEN_ESCAPE.search(text)
        return len(text) - match.start(1) if match else 0

    def _open_stop(self, text: str) -> int:
        longest = 0
        for stop in self._stops:
            for length in range(min(len(stop) - 1, len(text)), longest, -1):
                if text.endswith(stop[:length]):
                    longest = length
                    break
        return longest
