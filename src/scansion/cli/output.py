"""Writing the result, and only the result, to standard output."""

from __future__ import annotations

import errno
import os
import sys

from scansion.errors import ScansionError

__all__ = ["OutputError", "ResultWriter", "drop_standard_output", "note"]


class OutputError(ScansionError):
    """Standard output takes nothing more."""

    @classmethod
    def from_os_error(cls, error: OSError) -> OutputError:
        """The sentence for what the system said."""
        if isinstance(error, BrokenPipeError) or error.errno == errno.EPIPE:
            return cls("whoever read the output has gone: the result is incomplete")
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return cls("no space left where the output goes: free some, or write elsewhere")
        if error.errno == errno.EBADF:
            return cls("standard output is closed: send the result to a file, or to /dev/null")
        return cls(f"the output cannot be written ({error.strerror or error})")


class ResultWriter:
    """Text to standard output, as UTF-8 whatever the locale says, each piece visible at once."""

    def __init__(self) -> None:
        self._last = ""

    def write(self, text: str) -> None:
        """Write a piece.

        Raises:
            OutputError: the pipe is closed or the disk is full.
        """
        if not text:
            return
        self._last = text[-1]
        try:
            sys.stdout.flush()
            # A lone surrogate can only come from a caller's own text; '?' keeps the output valid.
            sys.stdout.buffer.write(text.encode("utf-8", "replace"))
            sys.stdout.buffer.flush()
        except OSError as error:
            raise OutputError.from_os_error(error) from None

    def end_line(self) -> None:
        """End the last line, if something was written and it did not end itself."""
        if self._last not in ("", "\n"):
            self.write("\n")


def drop_standard_output() -> None:
    """Forget what is still buffered, so that the interpreter does not try to write it again at exit."""
    try:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)
    except (OSError, ValueError):
        pass  # standard output is not a file: there is nothing to flush


def note(text: str) -> None:
    """A line for the person at the terminal, on standard error."""
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except OSError:
        pass  # the result matters, the remark does not
