"""One sequence against a constraint. The hot methods are the kernel's own, without a Python frame between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from scansion import _kernel
from scansion.errors import VocabularyError
from scansion.matching.explanation import Expectation, Explanation

if TYPE_CHECKING:
    from scansion.json_schema import Violation
    from scansion.matching.constraint import Constraint

__all__ = ["Matcher"]

# Tokens before the seam that are split again together with what is forced: merges reach back a few tokens, not more.
_SEAM_TOKENS = 8
# Continuations tried to see which forced tokens hold whatever follows, one of each kind a tokenizer's splitting rule tells apart.
_PROBES = (b"a", b"e", b"A", b"0", b" ", b"\n", b'"', b",", b"}", b"_")


class Matcher(_kernel.Matcher):
    """One sequence. Made by ``Constraint.matcher``; belongs to one thread at a time.

    ``fill_bitmask``, ``allows``, ``accept``, ``accept_bytes``, ``follow``, ``rollback``, ``fork``, ``reset``, ``forced_bytes``,
    ``only_token``, ``outlook`` and ``shortest_completion`` are the kernel's (``scansion/_kernel.pyi``); this class adds what is said to
    people and to tokenizers.
    """

    constraint: Constraint

    def __init__(self, constraint: Constraint) -> None:
        super().__init__(constraint)
        self.constraint = constraint

    def fork(self) -> Matcher:
        """An independent copy at the same place, with the same history. O(1)."""
        copy = Matcher.__new__(Matcher)
        _kernel.Matcher.__init__(copy, self)
        copy.constraint = self.constraint
        return copy

    # --- for people ---------------------------------------------------------------------------------------------------

    def expectation(self) -> Expectation:
        """What may come next, as bytes, and the rules or schema pointers being read."""
        where = self.constraint.places.names(self.expected())
        return Expectation(self.next_bytes(), where, self.is_complete)

    def explain(self, token_id: int, text: bytes | str | None = None) -> Explanation | None:
        """Why a token is not allowed here; None where it is. The matcher does not move.

        Args:
            token_id: the token asked about.
            text: everything written so far, which the matcher itself does not keep. With it, and a grammar from a JSON Schema, the
                explanation names the byte of the text, the value and the keyword: "at byte 57: `/items/3/price` must be at most 100".

        Raises:
            VocabularyError: the vocabulary has no such id, or it is no integer.
        """
        vocabulary = self.constraint.vocabulary
        if not isinstance(token_id, (int, np.integer)):
            raise VocabularyError(f"a token id is an integer, not {token_id!r}")
        if not 0 <= token_id < vocabulary.size:
            raise VocabularyError(f"there is no token {token_id}: the vocabulary has {vocabulary.size} ids")
        if self.allows(token_id):
            return None
        name = vocabulary.token_name(token_id)
        token = vocabulary.token_bytes(token_id)

        def explanation(offset: int, expected: Expectation, reason: str, violation: Violation | None = None) -> Explanation:
            if violation is not None:
                reason = f"{name}: {violation}; expected {expected}"
            return Explanation(token_id, name, offset, expected, reason, violation)

        if self.is_finished:
            return explanation(0, Expectation(b"", (), False), f"{name}: the text has ended")
        expected = self.expectation()
        if token_id in vocabulary.eos_token_ids:
            violation = self._violation(text, b"", 0)
            return explanation(0, expected, f"{name}: the text cannot end here; expected {expected}", violation)
        if token is None:
            return explanation(0, expected, f"{name} is never text, and no token terminal names it here; expected {expected}")
        offset = self.bytes_accepted(token)
        if offset:
            ahead = self.fork()
            ahead.accept_bytes(token[:offset])
            expected = ahead.expectation()
        if offset == len(token):
            return explanation(offset, expected, f"{name}: its bytes fit, but no tokens of this vocabulary can finish the text after it")
        found = repr(token[offset : offset + 1])[1:]
        reason = f"{name}: {found} at byte {offset} of the token does not fit; expected {expected}"
        return explanation(offset, expected, reason, self._violation(text, token, offset))

    def _violation(self, text: bytes | str | None, token: bytes, offset: int) -> Violation | None:
        source = self.constraint.program.source
        if text is None or source is None:
            return None
        before = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)
        return source.explain(before + token, len(before) + offset)

    # --- for tokenizers -----------------------------------------------------------------------------------------------

    def forced_tokens(
        self, tokenize: Callable[[str], Sequence[int]] | None = None, *, emitted: Sequence[int] = (), limit: int = 4096
    ) -> list[int]:
        """The tokens the grammar leaves no choice about, as far as the tokenizer's own split of them is certain.

        The forced bytes are cut at a whole character and split together with the last tokens emitted, so that the split
        is the one the tokenizer would make of the whole text. Tokens that a continuation could still change are left out,
        as is the last one before anything free: the model, not the grammar, decides how the text goes on there.

        Args:
            tokenize: text to ids; by default ``Vocabulary.tokenize``.
            emitted: ids of the tokens just before this place (the last few are enough), or nothing at the start.
            limit: bytes looked ahead at most.

        Returns:
            ids to accept in order; empty where nothing is forced or certain. Each is allowed where it stands.

        Raises:
            VocabularyError: no ``tokenize`` is given and the vocabulary has no tokenizer.
        """
        forced = self.forced_bytes(limit)
        if not forced:
            token_id = self.forced_token()
            return [] if token_id is None else [token_id]
        split = self.constraint.vocabulary.tokenize if tokenize is None else tokenize
        if tokenize is None and not self.constraint.vocabulary.has_tokenizer:
            raise VocabularyError("this vocabulary came without a tokenizer: give forced_tokens one")

        before = self._text_before(emitted)
        after = self._continuations(forced)
        whole = _whole_characters(forced)
        if not whole:
            return []
        certain = _split_after(split, before, whole, self.constraint.vocabulary.token_bytes)
        if certain is None:
            return []
        if after:
            for continuation in after if whole == forced else ():
                certain = _common(certain, _split_after(split, before, whole + continuation, self.constraint.vocabulary.token_bytes) or [])
            spelled = sum(len(self.constraint.vocabulary.token_bytes(token_id) or b"") for token_id in certain)
            if spelled == len(whole):
                certain = certain[:-1]
        return self._allowed_prefix(certain)

    def _text_before(self, emitted: Sequence[int]) -> bytes:
        """The text of the last tokens emitted, back to a special token or a cut character."""
        text = b""
        for token_id in reversed(emitted[-_SEAM_TOKENS:]):
            token = self.constraint.vocabulary.token_bytes(token_id)
            if token is None:
                break
            text = token + text
        # A text must start at a whole character to be split; what is cut off there is further away than merges reach.
        start = 0
        while start < min(3, len(text)) and text[start] & 0xC0 == 0x80:
            start += 1
        return text[start:]

    def _continuations(self, forced: bytes) -> list[bytes]:
        """Some single bytes that may follow the forced ones; empty where nothing may."""
        ahead = self.fork()
        if not ahead.accept_bytes(forced):
            return []
        following = ahead.next_bytes()
        if not following:
            return []
        ascii_bytes = [bytes([byte]) for byte in following if byte < 0x80]
        return [probe for probe in _PROBES if probe[0] in following] or ascii_bytes[:4] or [b""]

    def _allowed_prefix(self, token_ids: Sequence[int]) -> list[int]:
        """Tokens up to the first that the matcher does not allow (a tokenizer may give ids the grammar cannot take)."""
        ahead = self.fork()
        allowed: list[int] = []
        for token_id in token_ids:
            if not ahead.accept(token_id):
                break
            allowed.append(token_id)
        return allowed


def _split_after(
    tokenize: Callable[[str], Sequence[int]], before: bytes, text: bytes, token_bytes: Callable[[int], bytes | None]
) -> list[int] | None:
    """Tokens of ``text`` in a split of ``before + text``; of ``text`` alone where a token runs across the seam."""
    try:
        ids = list(tokenize((before + text).decode()))
        if before:
            position = 0
            for index, token_id in enumerate(ids):
                if position == len(before):
                    return ids[index:]
                position += len(token_bytes(token_id) or b"")
            return list(tokenize(text.decode()))
        return ids
    except (UnicodeDecodeError, VocabularyError):
        return None


def _whole_characters(data: bytes) -> bytes:
    """``data`` without a character cut at its end, or cut at its beginning (then nothing)."""
    for cut in range(min(4, len(data) + 1)):
        piece = data[: len(data) - cut]
        try:
            piece.decode()
        except UnicodeDecodeError:
            continue
        return piece
    return b""


def _common(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """The longest common prefix."""
    count = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        count += 1
    return list(left[:count])
