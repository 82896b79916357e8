"""What the tests of grammar languages ask of a grammar: is this a whole text of it, is this the beginning of one."""

from __future__ import annotations

from scansion import Grammar, Vocabulary

BYTES = Vocabulary([bytes([value]) for value in range(256)] + [None], eos_token_ids=[256])


def is_text(grammar: Grammar, text: str | bytes) -> bool:
    matcher = grammar.compile(BYTES).matcher()
    data = text.encode() if isinstance(text, str) else text
    return all(matcher.accept(byte) for byte in data) and matcher.is_complete


def is_prefix(grammar: Grammar, text: str | bytes) -> bool:
    matcher = grammar.compile(BYTES).matcher()
    return all(matcher.accept(byte) for byte in (text.encode() if isinstance(text, str) else text))


def check_texts(grammar: Grammar, accepted: list[str], rejected: list[str]) -> None:
    wrong = [f"refuses {text!r}" for text in accepted if not is_text(grammar, text)]
    wrong += [f"takes {text!r}" for text in rejected if is_text(grammar, text)]
    assert not wrong, "; ".join(wrong)
