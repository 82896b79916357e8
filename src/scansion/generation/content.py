"""What of a raw answer is the answer: no reasoning, no code fence, nothing before or after.

Generation here never needs to guess: it opens thinking and fences itself. This reader is for text that came from somewhere
else (another server, a recording, an assisted answer).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scansion.generation.text_stream import TextStream
from scansion.generation.thinking import THINK_CLOSE, THINK_OPEN

if TYPE_CHECKING:
    from scansion.matching import Constraint, Matcher

__all__ = ["ContentReader"]

_SPACE = b" \t\r\n"
_OPEN = THINK_OPEN.encode()
_CLOSE = THINK_CLOSE.encode()
_FENCE = b"```"
_FENCE_LINE = re.compile(rb"```[^\n`]*\n")
_CONTAINERS = b"{["
_LONGEST_FENCE_LINE = 80


class ContentReader:
    """Takes a raw answer in pieces of any size and gives its content out once, as it becomes certain.

    The answer may start with ``<think>...</think>``. After it, the value begins at the first byte that starts a line (or
    follows a code fence) and that the grammar's root admits; ``{`` and ``[`` also begin it in the middle of a line. It ends
    where the grammar takes nothing more. What comes out is the value's own text, without white space after it.

    Attributes:
        reasoning: the text of the thinking block so far.
        broken: the text left the grammar before it was complete; nothing more is given out.
    """

    def __init__(self, constraint: Constraint) -> None:
        """Read values of a grammar, compiled for any vocabulary that has all single bytes."""
        self._matcher: Matcher = constraint.matcher()
        self._stream = TextStream()
        self._thoughts = TextStream((THINK_CLOSE,))
        self._phase = "start"
        self._pending = b""
        self._line_start = True
        self._space = b""
        self.reasoning = ""
        self.broken = False

    @property
    def started(self) -> bool:
        """The value has begun."""
        return self._phase in ("value", "after")

    @property
    def complete(self) -> bool:
        """What has come is a whole value."""
        return self.started and not self.broken and self._matcher.is_complete

    def feed(self, data: bytes) -> str:
        """The content that became certain with ``data``."""
        self._pending += data
        if self._phase == "start":
            self._start()
        if self._phase == "thinking":
            self._think()
        if self._phase == "before":
            self._find_value()
        return self._value() if self._phase == "value" else ""

    def finish(self) -> str:
        """What is left when nothing more comes. An unfinished character or escape is given out as it is."""
        self.reasoning += self._thoughts.finish() if self._phase == "thinking" else ""
        rest = b"" if self._matcher.is_complete else self._space  # white space after a whole value is not part of it
        return self._stream.feed(rest) + self._stream.finish() if self.started else ""

    def _start(self) -> None:
        text = self._pending.lstrip(_SPACE)
        if text.startswith(_OPEN):
            self._pending = text[len(_OPEN) :]
            self._phase = "thinking"
        elif not _OPEN.startswith(text):
            self._phase = "before"

    def _think(self) -> None:
        place = self._pending.find(_CLOSE)
        if place >= 0:
            self.reasoning += self._thoughts.feed(self._pending[:place]) + self._thoughts.finish()
            self._pending = self._pending[place + len(_CLOSE) :]
            self._phase = "before"
            return
        keep = min(len(self._pending), len(_CLOSE) - 1)
        self.reasoning += self._thoughts.feed(self._pending[: len(self._pending) - keep])
        self._pending = self._pending[len(self._pending) - keep :]

    def _find_value(self) -> None:
        """Step over what comes before the value."""
        while self._pending:
            data = self._pending
            byte = data[:1]
            if byte in (b"\n", b"\r"):
                self._line_start = True
            elif self._line_start and byte == b"`" and not self._admits(byte):
                if len(data) < len(_FENCE) and _FENCE.startswith(data):
                    return
                fence = _FENCE_LINE.match(data)
                if fence is not None:
                    self._pending = data[fence.end() :]
                    continue
                if data.startswith(_FENCE) and b"\n" not in data and len(data) < _LONGEST_FENCE_LINE:
                    return
                self._line_start = False
            elif byte not in (b" ", b"\t"):
                if (self._line_start or byte in _CONTAINERS) and self._admits(byte):
                    self._phase = "value"
                    return
                self._line_start = False
            self._pending = data[1:]

    def _admits(self, byte: bytes) -> bool:
        return self._matcher.bytes_accepted(byte) == 1

    def _value(self) -> str:
        matcher = self._matcher
        shown = ""
        data, self._pending = self._pending, b""
        while data:
            if matcher.is_complete and data[:1] in (b" ", b"\t", b"\r", b"\n"):
                # White space after what may be the end is given out only once something follows it.
                if not matcher.accept_bytes(data[:1]):
                    self._phase = "after"
                    return shown
                self._space += data[:1]
                data = data[1:]
                continue
            run = self._run_length(data)
            if not run:
                self._phase = "after"
                self.broken = not matcher.is_complete
                return shown
            shown += self._stream.feed(self._space + data[:run])
            self._space = b""
            data = data[run:]
        return shown

    def _run_length(self, data: bytes) -> int:
        """Accept bytes up to the next place where white space would follow a complete text; how many."""
        matcher = self._matcher
        end = 0
        while end < len(data):
            # Between white space bytes, pieces go to the matcher whole.
            stop = end + 1
            while stop < len(data) and data[stop] not in _SPACE:
                stop += 1
            taken = matcher.bytes_accepted(data[end:stop])
            matcher.accept_bytes(data[end : end + taken])
            end += taken
            if taken < stop - (end - taken) or matcher.is_complete:
                break
        return end
