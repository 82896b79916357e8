"""Stage 4: the bytes of every token, from whatever tokenizer a model comes with.

Token bytes come from a vocabulary's own pieces, never from detokenising in a context (a detokeniser may add or drop
a space). Special tokens are never text. ``Vocabulary`` is the kernel's trie together with token names, end tokens and,
where the source is known, the tokenizer's own way of splitting text.
"""

from scansion.vocabulary.source import TextTokenizer
from scansion.vocabulary.vocabulary import Vocabulary

__all__ = ["TextTokenizer", "Vocabulary"]
