"""The command ``scansion``. One file per command; this one turns every failure into one sentence and an exit code.

0    done
1    ``check`` found a text that does not keep to the grammar; ``generate`` was cut before the answer was complete
2    the command could not be carried out: bad option, bad input, no room, nobody reading
130  interrupted
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

__all__ = ["main", "run"]

EXIT_FAILED = 2
EXIT_INTERRUPTED = 130
_EXCERPT = re.compile(r"\n {4}.*\n {4} *\^")
"""The line of a grammar and a caret under the place (``languages.source.Source.excerpt``), which do not go into one line."""


def main() -> NoReturn:
    """Run the command line of this process and exit."""
    try:
        _open_closed_streams()
        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # before the first command was there, or while the last words were said
        code = EXIT_INTERRUPTED
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command line.

    Args:
        arguments: without the program's name.

    Returns:
        The exit code. Nothing is raised: what goes wrong is said in one line on standard error.
    """
    try:
        import click

        from scansion.cli.app import app
        from scansion.cli.output import OutputError, drop_standard_output
        from scansion.errors import ScansionError
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    try:
        # Not app.main(): it prints an empty line of its own on an interrupt.
        with app.make_context("scansion", list(arguments)) as context:
            code = app.invoke(context)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as ending:
        return ending.exit_code
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted")
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        command = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx is not None else "scansion"
        _say(f"{_sentence(error.format_message())} (see {command} --help)")
    except OutputError as error:
        drop_standard_output()
        _say(_sentence(str(error)))
    except OSError as error:
        # Standard output is flushed above, so what has no name of its own is output.
        drop_standard_output()
        _say(_sentence(str(OutputError.from_os_error(error))))
    except ScansionError as error:
        _say(_sentence(str(error)))
    except MemoryError:
        _say("out of memory: use a smaller --context, model or schema")
    except Exception as error:
        _say(f"internal error, please report it with the command line: {type(error).__name__}: {_sentence(str(error))}")
    return EXIT_FAILED


def _open_closed_streams() -> None:
    """Give a stream that was closed before the start (``2>&-``) its place, so that no file opened later takes its number.

    What is read from it is empty, what is said there is lost, and writing a result there fails.
    """
    for name, flags, mode in (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), mode, encoding="utf-8"))


def _sentence(text: str) -> str:
    """One line, without a full stop at its end."""
    return " ".join(_EXCERPT.sub("", text).split()).removesuffix(".")


def _say(sentence: str) -> None:
    try:
        sys.stderr.write(f"scansion: {sentence}\n")
        sys.stderr.flush()
    except OSError:
        pass  # nobody is listening, and the exit code says it
