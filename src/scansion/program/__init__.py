"""Stage 3: the flat program the kernel runs, and the builder that writes it.

``ProgramBuilder`` is append-only and cheap: a front end asks it for lexemes, nodes, rules and container specs and gets
indices back. ``ProgramData`` is the finished, plain value: it pickles, compares by content and loads into the kernel.
The format is described in ``docs/architecture.md``, "Program".
"""

from scansion.program.builder import ProgramBuilder
from scansion.program.data import ProgramData
from scansion.program.whitespace import WHITESPACE_POLICIES

__all__ = ["WHITESPACE_POLICIES", "ProgramBuilder", "ProgramData"]
