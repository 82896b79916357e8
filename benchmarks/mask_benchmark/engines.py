"""One adapter per engine, all with the same four steps. Packages are imported when the engine is asked for.

An engine says what it takes (``kinds``), compiles a source, starts a sequence, fills its mask and accepts a token. Masks are
asked about through ``allows``, so that each engine keeps its own buffer.
"""

from __future__ import annotations

import json
from typing import Any, Protocol

import numpy as np

from .vocabularies import TokenTable

__all__ = ["ENGINES", "Engine"]


class Engine(Protocol):
    """What the benchmark times: ``compile`` + ``start`` + ``fill`` is the first mask, ``fill`` + ``accept`` one token."""

    kinds: frozenset[str]

    def compile(self, kind: str, source: Any) -> None:
        """Take a grammar; raises whatever the engine raises where it refuses."""

    def start(self) -> None:
        """Begin a sequence."""

    def fill(self) -> None:
        """Compute the mask."""

    def allows(self, token_id: int) -> bool:
        """Whether the last mask has the token."""

    def accept(self, token_id: int) -> None:
        """Take a token the mask has."""


class _WordMask:
    """A mask of 32-bit words in numpy."""

    mask: Any

    def allows(self, token_id: int) -> bool:
        return bool(int(self.mask[0, token_id // 32]) >> (token_id % 32) & 1)


class Scansion(_WordMask):
    """This project, in the order properties are declared (what the others enforce) and with free white space."""

    kinds = frozenset({"json_schema", "gbnf", "lark"})

    def __init__(self, table: TokenTable) -> None:
        import scansion

        self._grammar = scansion.Grammar
        self._vocabulary = scansion.Vocabulary(table.tokens, [table.eos])
        self.mask = scansion.allocate_bitmask(1, self._vocabulary.size)

    def compile(self, kind: str, source: Any) -> None:
        if kind == "json_schema":
            grammar = self._grammar.from_json_schema(source, whitespace="flexible", property_order="declared")
        else:
            grammar = self._grammar.from_gbnf(source) if kind == "gbnf" else self._grammar.from_lark(source)
        self._constraint = grammar.compile(self._vocabulary)

    def start(self) -> None:
        self._matcher = self._constraint.matcher()

    def fill(self) -> None:
        self._matcher.fill_bitmask(self.mask, 0)

    def accept(self, token_id: int) -> None:
        self._matcher.accept(token_id)


class Llguidance(_WordMask):
    kinds = frozenset({"json_schema", "lark"})

    def __init__(self, table: TokenTable) -> None:
        import llguidance
        import llguidance.numpy

        self._module = llguidance
        self._fill = llguidance.numpy.fill_next_token_bitmask
        if table.pattern:
            import llguidance.tiktoken
            import tiktoken

            ranks = {token: token_id for token_id, token in enumerate(table.tokens) if token is not None}
            encoding = tiktoken.Encoding("benchmark", pat_str=table.pattern, mergeable_ranks=ranks, special_tokens=table.special)
            size, slices = len(table.tokens), llguidance.LLTokenizer.json_slices()
            self._tokenizer = llguidance.tiktoken.lltokenizer_from_encoding(encoding, n_vocab=size, eos_token=table.eos, slices=slices)
        else:
            self._tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(_PlainTokenizer(table)))
        self.mask = llguidance.numpy.allocate_token_bitmask(1, self._tokenizer.vocab_size)

    def compile(self, kind: str, source: Any) -> None:
        grammar = self._module.LLMatcher.grammar_from_json_schema(source) if kind == "json_schema" else source
        self._compiled = self._module.LLMatcher(self._tokenizer, grammar)
        if self._compiled.is_error():
            raise ValueError(self._compiled.get_error())

    def start(self) -> None:
        self._matcher = self._compiled.deep_copy()

    def fill(self) -> None:
        self._fill(self._matcher, self.mask, 0)

    def accept(self, token_id: int) -> None:
        self._matcher.consume_token(token_id)


class _PlainTokenizer:
    """What llguidance asks of a tokenizer it does not know."""

    def __init__(self, table: TokenTable) -> None:
        self.eos_token_id, self.bos_token_id = table.eos, None
        names = {token_id: name.encode() for name, token_id in table.special.items()}
        self.tokens = [names.get(token_id, b"") if token is None else token for token_id, token in enumerate(table.tokens)]
        self.special_token_ids = sorted(names)
        self._encode = table.encode

    def __call__(self, text: str) -> list[int]:
        return list(self._encode(text))


class Xgrammar(_WordMask):
    kinds = frozenset({"json_schema", "gbnf"})

    def __init__(self, table: TokenTable) -> None:
        import xgrammar

        names = {token_id: name.encode() for name, token_id in table.special.items()}
        tokens = [names.get(token_id, b"") if token is None else token for token_id, token in enumerate(table.tokens)]
        info = xgrammar.TokenizerInfo(tokens, vocab_type=xgrammar.VocabType.RAW, vocab_size=len(tokens), stop_token_ids=[table.eos])
        self._module = xgrammar
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self.mask = xgrammar.allocate_token_bitmask(1, len(tokens))

    def compile(self, kind: str, source: Any) -> None:
        if kind == "json_schema":
            self._compiled = self._compiler.compile_json_schema(json.dumps(source), any_whitespace=True, strict_mode=False)
        else:
            self._compiled = self._compiler.compile_grammar(source)

    def start(self) -> None:
        self._matcher = self._module.GrammarMatcher(self._compiled)

    def fill(self) -> None:
        self._matcher.fill_next_token_bitmask(self.mask)

    def accept(self, token_id: int) -> None:
        self._matcher.accept_token(token_id)


class Glrmask:
    kinds = frozenset({"json_schema", "lark"})

    def __init__(self, table: TokenTable) -> None:
        import glrmask

        self._module = glrmask
        tokens = {token_id: token for token_id, token in enumerate(table.tokens) if token is not None}
        self._vocabulary = glrmask.Vocab.from_id_to_bytes(tokens)
        self._end = table.eos
        self._mask = np.zeros((max(tokens) + 32) // 32, dtype=np.int32)

    def compile(self, kind: str, source: Any) -> None:
        grammar = self._module.Grammar
        made = grammar.from_json_schema(source) if kind == "json_schema" else grammar.from_lark(source)
        self._constraint = made.compile(self._vocabulary)

    def start(self) -> None:
        self._matcher = self._constraint.start()

    def fill(self) -> None:
        self._matcher.fill_mask(self._mask)

    def allows(self, token_id: int) -> bool:
        if token_id == self._end:  # glrmask masks text only and says by itself where it may end
            return bool(self._matcher.is_accepting())
        return bool(int(self._mask[token_id // 32]) >> (token_id % 32) & 1)

    def accept(self, token_id: int) -> None:
        self._matcher.commit_token(token_id)


class Maskforge:
    kinds = frozenset({"json_schema"})

    def __init__(self, table: TokenTable) -> None:
        import maskforge

        self._vocabulary = maskforge.Vocabulary.from_id_ordered_tokens(table.tokens, eos_token_id=table.eos)
        self._compiler = maskforge.Compiler()

    def compile(self, kind: str, source: Any) -> None:
        self._bound = self._compiler.compile(source).bind(self._vocabulary)
        self._mask = bytearray(4 * self._bound.mask_word_count)

    def start(self) -> None:
        self._session = self._bound.start_session()

    def fill(self) -> None:
        self._session.write_mask(self._mask)

    def allows(self, token_id: int) -> bool:
        return bool(self._mask[token_id // 8] >> (token_id % 8) & 1)

    def accept(self, token_id: int) -> None:
        self._session.advance(token_id)


class Floor:
    """No grammar at all: what the loop itself costs."""

    kinds = frozenset({"json_schema", "gbnf", "lark"})

    def __init__(self, table: TokenTable) -> None:
        pass

    def compile(self, kind: str, source: Any) -> None:
        pass

    def start(self) -> None:
        pass

    def fill(self) -> None:
        pass

    def allows(self, token_id: int) -> bool:
        return True

    def accept(self, token_id: int) -> None:
        pass


ENGINES: dict[str, Any] = {
    "scansion": Scansion,
    "llguidance": Llguidance,
    "xgrammar": Xgrammar,
    "glrmask": Glrmask,
    "maskforge": Maskforge,
    "floor": Floor,
}
