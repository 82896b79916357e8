"""From a prompt to an answer: the loop, drafts, budgets, and what of the text is the answer.

``run`` holds one answer, ``loop`` drives one or several over a model, ``api`` is what programs call.
"""

from scansion.generation.api import aextract, agenerate, astream, extract, generate, generate_many
from scansion.generation.content import ContentReader
from scansion.generation.events import Completion, Delta, DraftFigures, Stats, TokenLogprob
from scansion.generation.loop import AnswerStream, step
from scansion.generation.options import GenerationOptions
from scansion.generation.partial import partial_value, partial_values
from scansion.generation.run import Run

__all__ = [
    "AnswerStream",
    "Completion",
    "ContentReader",
    "Delta",
    "DraftFigures",
    "GenerationOptions",
    "Run",
    "Stats",
    "TokenLogprob",
    "aextract",
    "agenerate",
    "astream",
    "extract",
    "generate",
    "generate_many",
    "partial_value",
    "partial_values",
    "step",
]
