"""A request as far as its body says it: what the readers make of bytes, before anything of this server comes in.

Reading is pure and its result pickles, so that a large body is read in a worker process and none of it is held here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scansion.server.backend import Job
from scansion.server.resolver import FREE, Asked
from scansion.server.tools import ToolPlan

__all__ = ["Understood"]


@dataclass(frozen=True)
class Understood:
    """A request for text.

    Attributes:
        job: all of it but ``id``, ``constraint`` and, where ``default_budget``, ``max_tokens``; ``model`` is the name as asked for,
            "" for none.
        default_budget: the request names no number of tokens and the server's own applies.
        asked: what the answer must keep to.
        plan: tools, whose grammar then takes the place of ``asked``.
        streaming: the answer is wanted as it grows.
        usage: a stream ends with counts of tokens.
        count: answers wanted for each prompt.
        prompts: several prompts at once; ``job.prompt`` is the first.
        echo: parameters the answer repeats.
    """

    job: Job
    asked: Asked = FREE
    plan: ToolPlan | None = None
    default_budget: bool = False
    streaming: bool = False
    usage: bool = False
    count: int = 1
    prompts: tuple[str, ...] = ()
    echo: Mapping[str, Any] = field(default_factory=dict)
