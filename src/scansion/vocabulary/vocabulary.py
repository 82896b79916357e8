"""The public Vocabulary: the kernel's trie with names, constructors and the tokenizer's own split."""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from scansion import _kernel
from scansion.errors import VocabularyError
from scansion.json_schema.familiar_strings import familiar_strings
from scansion.vocabulary.checks import check_end_tokens, check_size, check_special_tokens, check_tokens
from scansion.vocabulary.source import Source, TextTokenizer

if TYPE_CHECKING:
    import llama_cpp
    import sentencepiece
    import tiktoken
    import tokenizers

__all__ = ["Vocabulary"]

# Vocabularies made from a tokenizer, while anything still uses them: what the kernel learns about a vocabulary (slices
# of lexeme states) is kept on the object, so two objects for one tokenizer would learn it twice.
_from_sources: weakref.WeakValueDictionary[Hashable, Vocabulary] = weakref.WeakValueDictionary()
_from_sources_lock = threading.Lock()


class Vocabulary(_kernel.Vocabulary):
    """The tokens of a model. Immutable; share one between all constraints and threads.

    Args:
        tokens: bytes of each id, in the order of ids. None (or ``b""``): the token is never text.
        eos_token_ids: the tokens that end a text: end of text, of turn, of message. They are never text, and allowed
            exactly where the text may end.
        special_tokens: names of tokens that are never text, such as ``{"<|im_start|>": 1}``. A grammar reaches them by name only.
        tokenizer: how the model's own tokenizer splits a text; see ``tokenize``.
        name: what to call the vocabulary in messages.

    Raises:
        VocabularyError: the lists are of the wrong types or empty, an id is out of range, one id has two names, there
            is no end token, or no token has text.
        LimitError: more than 1,000,000 ids, or more than 4,096 bytes in one token.

    Two vocabularies are equal when their ids, bytes, end tokens and names are; the tokenizer does not count. Pickles.
    """

    def __init__(
        self,
        tokens: Sequence[bytes | None],
        eos_token_ids: Sequence[int],
        special_tokens: Mapping[str, int] | None = None,
        *,
        tokenizer: TextTokenizer | None = None,
        name: str = "tokens",
    ) -> None:
        texts = check_tokens(tokens)
        ends = check_end_tokens(eos_token_ids, len(texts))
        named = check_special_tokens(special_tokens, len(texts))
        never_text = {*ends, *named.values()}
        for token_id in never_text:
            texts[token_id] = None
        if not any(texts):
            raise VocabularyError("every token of the vocabulary is an end token or special: none has text")
        super().__init__(texts, ends, sorted(named.values()))
        # Once for all constraints: the first of them would wait for it, and so would each new string.
        for language, text in familiar_strings():
            self.rehearse_string(language, text)
        self._special_tokens = MappingProxyType(named)
        self._names = {token_id: special for special, token_id in named.items()}
        self._tokenizer = tokenizer
        self._fingerprint: str | None = None
        self._ids_by_bytes: dict[bytes, int] | None = None
        self.name = name

    # --- constructors -------------------------------------------------------------------------------------------------

    @classmethod
    def from_tiktoken(
        cls, encoding: tiktoken.Encoding, *, eos_token_ids: Sequence[int] | None = None, size: int | None = None
    ) -> Vocabulary:
        """The vocabulary of a tiktoken encoding.

        Args:
            eos_token_ids: end tokens; by default the special tokens with well-known names (``<|endoftext|>``, ``<|im_end|>`` ...).
            size: number of ids a row of logits has, where the model's output is wider than its tokenizer.
        """
        from scansion.vocabulary import tiktoken_source

        return cls._from_source(tiktoken_source.key(encoding), lambda: tiktoken_source.load(encoding), eos_token_ids, size)

    @classmethod
    def from_tokenizers(
        cls, tokenizer: tokenizers.Tokenizer | str | Path, *, eos_token_ids: Sequence[int] | None = None, size: int | None = None
    ) -> Vocabulary:
        """The vocabulary of a ``tokenizers.Tokenizer`` (also inside a ``transformers`` fast tokenizer) or of a ``tokenizer.json``.

        Byte-level and SentencePiece-like decoders are understood; another decoder is a VocabularyError that names it.

        Args:
            tokenizer: the object, the path of the file, or of the folder it is in. Files beside it
                (``generation_config.json``, ``tokenizer_config.json``) are asked for end tokens.
            eos_token_ids: end tokens; by default those the files name and added tokens with well-known names.
            size: number of ids a row of logits has, where the model's output is wider than its tokenizer.
        """
        from scansion.vocabulary import tokenizers_source

        text = tokenizers_source.read(tokenizer)
        return cls._from_source(tokenizers_source.key(text), lambda: tokenizers_source.load(text), eos_token_ids, size)

    @classmethod
    def from_sentencepiece(
        cls,
        model: sentencepiece.SentencePieceProcessor | str | Path,
        *,
        eos_token_ids: Sequence[int] | None = None,
        size: int | None = None,
    ) -> Vocabulary:
        """The vocabulary of a SentencePiece processor or of the path of a ``.model`` file.

        Args:
            eos_token_ids: end tokens; by default the model's own and pieces with well-known names (``<end_of_turn>`` ...).
            size: number of ids a row of logits has, where the model's output is wider than its tokenizer.
        """
        from scansion.vocabulary import sentencepiece_source

        data = sentencepiece_source.read(model)
        return cls._from_source(sentencepiece_source.key(data), lambda: sentencepiece_source.load(data), eos_token_ids, size)

    @classmethod
    def from_llama(
        cls, model: llama_cpp.Llama | int | None = None, *, vocab: int | None = None, eos_token_ids: Sequence[int] | None = None
    ) -> Vocabulary:
        """The vocabulary of a model loaded by llama-cpp-python.

        Args:
            model: a ``llama_cpp.Llama``, or a ``llama_model *`` from the low-level API.
            vocab: instead of a model, the pointer from ``llama_model_get_vocab``.
            eos_token_ids: end tokens; by default all that llama.cpp takes as end of generation.

        With a bare pointer ``tokenize`` works only while the caller keeps the model loaded; everything else is copied.
        """
        from scansion.vocabulary import llama_source

        pointer = llama_source.vocab_pointer(model, vocab)
        return cls._from_source(llama_source.key(model), lambda: llama_source.load(pointer, model), eos_token_ids, None)

    @classmethod
    def _from_source(
        cls, source_key: Hashable | None, load: Callable[[], Source], eos_token_ids: Sequence[int] | None, size: int | None
    ) -> Vocabulary:
        options = (cls, None if eos_token_ids is None else tuple(eos_token_ids), size)
        key = None if source_key is None else (source_key, options)
        with _from_sources_lock:
            known = None if key is None else _from_sources.get(key)
        if known is not None:
            return known
        source = load()
        ends = source.eos_token_ids if eos_token_ids is None else eos_token_ids
        if not ends:
            raise VocabularyError(f"the {source.name} vocabulary names no end token: name one or more with eos_token_ids=[...]")
        tokens = source.tokens
        if size is not None:
            if size < len(tokens):
                raise VocabularyError(f"size is {size}, but the {source.name} vocabulary has {len(tokens)} ids")
            check_size(size)
            tokens = tokens + [None] * (size - len(tokens))
        made = cls(tokens, ends, source.special_tokens, tokenizer=source.tokenizer, name=source.name)
        if key is None:
            return made
        with _from_sources_lock:
            return _from_sources.setdefault(key, made)

    # --- names and bytes ----------------------------------------------------------------------------------------------

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Names of tokens that are never text, to their ids."""
        return self._special_tokens

    @property
    def tokens(self) -> list[bytes | None]:
        """Bytes of every id (a new list); None for end, special and unused tokens."""
        return [self.token_bytes(token_id) for token_id in range(self.size)]

    def token_id(self, name: str) -> int:
        """Id of a special token by name, or of the first ordinary token spelled exactly so.

        Raises:
            VocabularyError: there is no such token.
        """
        special = self._special_tokens.get(name)
        if special is not None:
            return special
        if self._ids_by_bytes is None:
            ids: dict[bytes, int] = {}
            for token_id, token in enumerate(self.tokens):
                if token is not None:
                    ids.setdefault(token, token_id)
            self._ids_by_bytes = ids
        ordinary = self._ids_by_bytes.get(name.encode("utf-8", "surrogatepass"))
        if ordinary is None:
            raise VocabularyError(f"the vocabulary has no token named or spelled {name!r}")
        return ordinary

    def token_name(self, token_id: int) -> str:
        """A token for people: a special token's name, an ordinary token's bytes as Python writes them, ``token 7`` otherwise."""
        name = self._names.get(token_id)
        if name is not None:
            return name
        text = self.token_bytes(token_id)
        return f"token {token_id}" if text is None else repr(text)[1:]

    # --- the canonical split ------------------------------------------------------------------------------------------

    @property
    def has_tokenizer(self) -> bool:
        """Whether ``tokenize`` is available: the vocabulary came from a tokenizer, or one was given."""
        return self._tokenizer is not None

    def tokenize(self, text: str | bytes) -> list[int]:
        """Token ids of a text as the model's own tokenizer splits it in the middle of a text.

        No special token is added or recognised and no space put before the text. The ids spell exactly ``text``.

        Raises:
            VocabularyError: the vocabulary has no tokenizer, ``text`` is not UTF-8, or the tokenizer changes the text
                (Unicode normalisation), so that no split of it spells the text.
        """
        if self._tokenizer is None:
            raise VocabularyError("this vocabulary came without a tokenizer: make it from one, or use tokenize_greedy(text)")
        if isinstance(text, bytes):
            data = text
            try:
                text = data.decode()
            except UnicodeDecodeError as error:
                raise VocabularyError(f"the text to tokenize is not UTF-8 at byte {error.start}: cut it at a whole character") from error
        else:
            try:
                data = text.encode()
            except UnicodeEncodeError as error:
                raise VocabularyError(f"the text to tokenize has a lone surrogate at character {error.start}") from error
        ids = self._tokenizer.encode(text) if text else []
        if b"".join(self.token_bytes(token_id) or b"" for token_id in ids) != data:
            raise VocabularyError("the tokenizer changes this text before splitting it, so its tokens do not spell it")
        return ids

    # --- value ---------------------------------------------------------------------------------------------------------

    @property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, of ids, bytes, end tokens and names."""
        if self._fingerprint is None:
            digest = hashlib.sha256()
            # -1 for None: lengths before the bytes make the encoding free of ambiguity
            tokens = self.tokens
            digest.update(repr([-1 if token is None else len(token) for token in tokens]).encode())
            digest.update(b"".join(filter(None, tokens)))
            digest.update(repr((list(self.eos_token_ids), sorted(self._special_tokens.items()))).encode())
            self._fingerprint = digest.hexdigest()
        return self._fingerprint

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return self.fingerprint == other.fingerprint if isinstance(other, Vocabulary) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"<scansion.Vocabulary {self.name}: {self.size} ids, end tokens {', '.join(map(self.token_name, self.eos_token_ids))}>"

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.tokens, list(self.eos_token_ids), dict(self._special_tokens), self._tokenizer, self.name))


def _rebuild(
    kind: type[Vocabulary],
    tokens: list[bytes | None],
    eos_token_ids: list[int],
    special_tokens: dict[str, int],
    tokenizer: TextTokenizer | None,
    name: str,
) -> Vocabulary:
    return kind(tokens, eos_token_ids, special_tokens, tokenizer=tokenizer, name=name)
