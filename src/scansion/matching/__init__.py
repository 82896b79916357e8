"""Stage 5: the typed face of the kernel. A Constraint is a program over a vocabulary, a Matcher one sequence.

Lifetimes: one ``Vocabulary`` per model, one ``Constraint`` per grammar and vocabulary (shared between threads), one
``Matcher`` per sequence (one thread at a time). Bitmasks are plain int32 arrays in the layout XGrammar and llguidance use.
"""

from scansion.matching.bitmask import allocate_bitmask, apply_bitmask, fill_bitmasks
from scansion.matching.constraint import Constraint
from scansion.matching.explanation import Expectation, Explanation
from scansion.matching.matcher import Matcher

__all__ = ["Constraint", "Expectation", "Explanation", "Matcher", "allocate_bitmask", "apply_bitmask", "fill_bitmasks"]
