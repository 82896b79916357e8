"""A tiny model and grammar in plain Python, for what needs neither llama.cpp nor the kernel.

The model's logits are a pure function of the tokens before them, so whether drafts change an answer can be asked exactly:
no batch shape, no floating point order.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import numpy as np

from scansion.errors import ContextError
from scansion.matching import one_by_one
from scansion.models.base import Feed
from scansion.models.costs import ForwardCosts

EOS = 0


class StandInVocabulary:
    """Single bytes, a few longer tokens, one end token (id 0)."""

    def __init__(
        self, longer: Sequence[bytes] = (b'":', b'","', b'{"', b"na", b"name", b"me", b" b", b"\xc3\xa9", b"an", b"ana", b"a b")
    ) -> None:
        self.tokens: list[bytes | None] = [None, *[bytes([byte]) for byte in range(256)], *longer]
        self.size = len(self.tokens)
        self.eos_token_ids = [EOS]
        self.special_tokens: dict[str, int] = {"<|end|>": EOS}
        self._ids = {token: index for index, token in enumerate(self.tokens) if token is not None}
        self._longest = max(len(token) for token in self._ids)

    def add(self, token: bytes) -> None:
        self._ids[token] = self.size
        self.tokens.append(token)
        self.size += 1
        self._longest = max(self._longest, len(token))

    def token_bytes(self, token_id: int) -> bytes | None:
        return self.tokens[token_id]

    def tokenize_greedy(self, text: bytes) -> list[int] | None:
        ids: list[int] = []
        while text:
            length = next((n for n in range(min(self._longest, len(text)), 0, -1) if text[:n] in self._ids), 0)
            if not length:
                return None
            ids.append(self._ids[text[:length]])
            text = text[length:]
        return ids

    def text(self, ids: Sequence[int]) -> bytes:
        return b"".join(self.tokens[token] or b"" for token in ids)


class StandInSequence:
    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.open = True

    def truncate(self, length: int) -> None:
        del self.tokens[length:]

    def close(self) -> None:
        self.open = False


class StandInModel:
    """Pseudo-random logits that depend on the last ``memory`` tokens; ``spread`` sharpens them."""

    def __init__(self, seed: int = 0, *, context_size: int = 512, spread: float = 3.0, memory: int = 6) -> None:
        self.name = "stand-in"
        self.vocabulary = StandInVocabulary()
        self.context_size = context_size
        self.lock = threading.RLock()
        self.costs = ForwardCosts()
        self.sampler_vocabulary = None
        self.forwards: list[int] = []
        self.sequences: list[StandInSequence] = []
        self._seed = seed
        self._spread = spread
        self._memory = memory
        self._known: dict[tuple[int, ...], np.ndarray] = {}

    def tokenize(self, text: bytes, *, special: bool = False) -> list[int]:
        return self.vocabulary.tokenize_greedy(text) or []

    def prompt_tokens(self, text: str) -> list[int]:
        return self.tokenize(text.encode())

    def chat_prompt(self, messages: Sequence[object], **_: object) -> str:
        return "".join(f"{message['content']}\n" for message in messages)  # type: ignore[index]

    def open_sequence(self, prompt: Sequence[int]) -> StandInSequence:
        if len(prompt) >= self.context_size:
            raise ContextError("too long")
        self.sequences.append(StandInSequence())
        return self.sequences[-1]

    def forward(self, feeds: Sequence[Feed]) -> list[np.ndarray]:
        self.forwards.append(sum(len(feed.tokens) for feed in feeds))
        results = []
        for feed in feeds:
            rows = []
            for index, token in enumerate(feed.tokens):
                feed.sequence.tokens.append(token)  # type: ignore[attr-defined]
                if index >= len(feed.tokens) - feed.rows:
                    rows.append(self.logits(feed.sequence.tokens))
            results.append(np.stack(rows))
        return results

    def logits(self, tokens: Sequence[int]) -> np.ndarray:
        key = tuple(tokens[-self._memory :])
        if key not in self._known:
            digest = hashlib.blake2b(repr((self._seed, key)).encode(), digest_size=8).digest()
            noise = np.random.default_rng(int.from_bytes(digest, "little")).normal(size=self.vocabulary.size)
            self._known[key] = (noise * self._spread).astype(np.float32)
        return self._known[key].copy()


class Texts:
    """A grammar of finitely many texts; ``matcher`` gives what generation uses of a real one."""

    def __init__(self, texts: Sequence[bytes], vocabulary: StandInVocabulary, source: object = None) -> None:
        self.program = SimpleNamespace(source=source)  # what explains a refused text, for a grammar of a schema
        self.texts = sorted(set(texts))
        self.vocabulary = vocabulary
        self.masks: dict[tuple[bytes, bool], np.ndarray] = {}

    def matcher(self) -> TextsMatcher:
        return TextsMatcher(self)


class TextsMatcher:
    counts_tokens = False

    def __init__(self, grammar: Texts) -> None:
        self._grammar = grammar
        self._history: list[tuple[bytes, bool]] = [(b"", False)]

    @property
    def _text(self) -> bytes:
        return self._history[-1][0]

    def _alive(self, text: bytes) -> Iterator[bytes]:
        return (whole for whole in self._grammar.texts if whole.startswith(text))

    @property
    def is_complete(self) -> bool:
        return self._text in self._grammar.texts

    @property
    def is_finished(self) -> bool:
        return self._history[-1][1]

    @property
    def state_id(self) -> int:
        return hash(self._text)

    def allows(self, token_id: int) -> bool:
        if self.is_finished:
            return False
        if token_id == EOS:
            return self.is_complete
        token = self._grammar.vocabulary.token_bytes(token_id)
        return token is not None and any(True for _ in self._alive(self._text + token))

    def accept(self, token_id: int) -> bool:
        if not self.allows(token_id):
            return False
        token = self._grammar.vocabulary.token_bytes(token_id)
        self._history.append((self._text + (token or b""), token_id == EOS))
        return True

    def follow(self, token_ids: Sequence[int], only: bool = False) -> list[bool]:
        return one_by_one.follow(self, token_ids, only)

    def only_token(self) -> int | None:
        allowed = [token for token in range(self._grammar.vocabulary.size) if self.allows(token)]
        return allowed[0] if len(allowed) == 1 else None

    def outlook(self, limit: int = 4096) -> tuple[bytes, bytes, bool]:
        return one_by_one.outlook(self, limit)

    def bytes_accepted(self, data: bytes) -> int:
        return max(n for n in range(len(data) + 1) if any(True for _ in self._alive(self._text + data[:n])))

    def accept_bytes(self, data: bytes) -> bool:
        if self.bytes_accepted(data) < len(data):
            return False
        self._history.append((self._text + data, False))
        return True

    def fill_bitmask(self, mask: np.ndarray, row: int = 0) -> None:
        masks = self._grammar.masks
        if self._history[-1] not in masks:
            bits = np.zeros(mask.shape[1] * 32, np.uint8)
            for token in range(self._grammar.vocabulary.size):
                bits[token] = self.allows(token)
            masks[self._history[-1]] = np.packbits(bits, bitorder="little").view(np.int32)
        mask[row] = masks[self._history[-1]]

    def bytes_replaced(self, text: bytes) -> int | None:
        """Every text is a place of its own: only a token that writes a beginning of ``text`` stands for it."""
        before, now = self._history[-2][0], self._text
        return next((done for done in range(min(4, len(text))) if now == before + text[:done]), None)

    def rollback(self, n_tokens: int) -> None:
        del self._history[len(self._history) - n_tokens :]

    def fork(self) -> TextsMatcher:
        copy = TextsMatcher(self._grammar)
        copy._history = list(self._history)
        return copy

    def forced_bytes(self, limit: int = 4096) -> bytes:
        forced = b""
        while self._text + forced not in self._grammar.texts:
            following = {whole[len(self._text) + len(forced)] for whole in self._alive(self._text + forced)}
            if len(following) != 1 or len(forced) >= limit:
                break
            forced += bytes(following)
        return forced

    def forced_token(self) -> int | None:
        return None

    def shortest_completion(self, limit: int = 1 << 20) -> bytes | None:
        return min((whole[len(self._text) :] for whole in self._alive(self._text)), key=len)

    def shortest_cost(self) -> int:
        return len(self.shortest_completion() or b"")

    def next_bytes(self) -> bytes:
        following = {whole[len(self._text) :][:1] for whole in self._alive(self._text)} - {b""}
        return b"".join(sorted(following))
