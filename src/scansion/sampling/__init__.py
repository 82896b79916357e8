"""Draw, check, redraw: from logits and a constraint to a token.

``settings`` says what can be asked, ``chain`` draws (llama.cpp's own sampler chain, or the plain maximum), ``constrained``
checks the draw against a constraint and draws again under its mask where it was refused.
"""

from scansion.sampling.chain import Drawer, make_drawer
from scansion.sampling.constrained import ConstrainedDraws, Constraining
from scansion.sampling.settings import Sampling

__all__ = ["ConstrainedDraws", "Constraining", "Drawer", "Sampling", "make_drawer"]
