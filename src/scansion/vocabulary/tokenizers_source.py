"""Tokens of a Hugging Face tokenizer (`tokenizer.json`), by interpreting its decoder token by token.

Format: huggingface/tokenizers, `tokenizers/src/decoders/`. A decoder that depends on a token's neighbours (WordPiece,
BPEDecoder, CTC) gives no token bytes of its own and is refused by name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from scansion.errors import VocabularyError
from scansion.vocabulary.checks import check_size
from scansion.vocabulary.end_tokens import end_tokens_by_name
from scansion.vocabulary.pieces import byte_fallback, from_byte_map
from scansion.vocabulary.source import Source

if TYPE_CHECKING:
    import tokenizers

__all__ = ["TokenizerText", "key", "load", "read"]

_T = TypeVar("_T")

_WAY_OUT = "give the token bytes yourself: scansion.Vocabulary(tokens, eos_token_ids=...)"


@dataclass(frozen=True)
class TokenizerText:
    """The text of a ``tokenizer.json`` and what its neighbours say of end tokens.

    Attributes:
        text: the JSON text.
        end_names, end_ids: end tokens named by ``tokenizer_config.json``, ``special_tokens_map.json`` and
            ``generation_config.json`` beside the file, or by a ``transformers`` tokenizer.
    """

    text: str
    end_names: tuple[str, ...] = ()
    end_ids: tuple[int, ...] = ()


class _Splitter:
    """The tokenizer without prefix space, template, truncation or special tokens, loaded on first use."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokenizer: Any = None

    def encode(self, text: str) -> list[int]:
        if self._tokenizer is None:
            self._tokenizer = _mid_text_tokenizer(self._text)
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def __reduce__(self) -> tuple[object, ...]:
        return (_Splitter, (self._text,))


def read(tokenizer: tokenizers.Tokenizer | str | Path) -> TokenizerText:
    """The JSON of a ``tokenizers.Tokenizer``, a ``transformers`` fast tokenizer, or a file or folder holding ``tokenizer.json``."""
    if isinstance(tokenizer, str | Path):
        path = Path(tokenizer)
        path = path / "tokenizer.json" if path.is_dir() else path
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise VocabularyError(f"cannot read the tokenizer {str(path)!r}: {error}") from error
        names, ids = _neighbours(path.parent)
        return TokenizerText(text, names, ids)
    inner = getattr(tokenizer, "backend_tokenizer", tokenizer)
    to_str = getattr(inner, "to_str", None)
    if to_str is None:
        raise VocabularyError(
            f"from_tokenizers takes a tokenizers.Tokenizer or the path of a tokenizer.json, not {type(tokenizer).__name__}"
        )
    end_id = getattr(tokenizer, "eos_token_id", None)
    return TokenizerText(to_str(), (), (end_id,) if isinstance(end_id, int) else ())


def key(tokenizer: TokenizerText) -> Hashable:
    """Identity of the source, for caching."""
    return ("tokenizers", hashlib.sha256(tokenizer.text.encode()).digest(), tokenizer.end_names, tokenizer.end_ids)


def load(tokenizer: TokenizerText) -> Source:
    """Read all tokens; about 0.3 s for 128,000 ids."""
    config = _parse(tokenizer.text)
    model = _field(config, "model", dict)
    for affix in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(affix):
            raise VocabularyError(f"the tokenizer's {affix} {model[affix]!r} makes token bytes depend on their neighbours ({_WAY_OUT})")
    decode, is_byte_level = _piece_decoder(config)
    pieces = _model_pieces(model)
    added = {_field(entry, "id", int): entry for entry in config.get("added_tokens") or []}
    size = 1 + max(max(pieces, default=-1), max(added, default=-1))
    check_size(size)

    tokens: list[bytes | None] = [None] * size
    for token_id, piece in pieces.items():
        tokens[token_id] = decode(piece)
    special_tokens: dict[str, int] = {}
    names: dict[str, int] = {}
    for token_id, entry in added.items():
        content = _field(entry, "content", str)
        names[content] = token_id
        if entry.get("special"):
            special_tokens[content] = token_id
            tokens[token_id] = None
        else:  # written in plain text by byte-level tokenizers, in the model's own spelling by the others
            tokens[token_id] = content.encode() if is_byte_level else decode(content)
    unknown = _unknown_token(model, pieces)
    if unknown is not None:
        tokens[unknown] = None
        special_tokens.setdefault(pieces[unknown], unknown)

    by_name = {piece: token_id for token_id, piece in pieces.items()} | names
    ends = set(end_tokens_by_name(names)) | set(tokenizer.end_ids)
    ends.update(by_name[name] for name in tokenizer.end_names if name in by_name)
    special_tokens.update((name, token_id) for name, token_id in names.items() if token_id in ends)
    return Source(tokens, sorted(ends), special_tokens, _Splitter(tokenizer.text), "tokenizers")


def _parse(text: str) -> dict[str, Any]:
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise VocabularyError(f"the tokenizer is not JSON: {error}") from error
    if not isinstance(config, dict):
        raise VocabularyError("the tokenizer is not a JSON object: is this a tokenizer.json?")
    return config


def _field(config: Any, name: str, kind: type[_T]) -> _T:
    value = config.get(name) if isinstance(config, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise VocabularyError(f"the tokenizer's {name!r} is missing or no {kind.__name__}: is this a tokenizer.json?")
    return value


def _model_pieces(model: dict[str, Any]) -> dict[int, str]:
    """Id to piece. BPE and WordLevel write an object, Unigram a list of pieces with scores."""
    vocab = model.get("vocab")
    if isinstance(vocab, dict):
        pieces = {token_id: piece for piece, token_id in vocab.items()}
        if not all(isinstance(token_id, int) and token_id >= 0 for token_id in pieces):
            raise VocabularyError("the tokenizer's model.vocab has an id that is no natural number")
        if len(pieces) != len(vocab):
            raise VocabularyError("the tokenizer's model.vocab gives one id to two pieces")
        return pieces
    if isinstance(vocab, list):
        try:
            return {token_id: str(piece) for token_id, (piece, _score) in enumerate(vocab)}
        except (TypeError, ValueError) as error:
            raise VocabularyError("the tokenizer's model.vocab is no list of pieces with scores") from error
    raise VocabularyError("the tokenizer's model.vocab is missing: is this a tokenizer.json?")


def _unknown_token(model: dict[str, Any], pieces: dict[int, str]) -> int | None:
    if isinstance(model.get("unk_id"), int):
        return int(model["unk_id"]) if model["unk_id"] in pieces else None
    name = model.get("unk_token")
    return next((token_id for token_id, piece in pieces.items() if piece == name), None) if name else None


# --- decoders ---------------------------------------------------------------------------------------------------------


def _steps(component: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(component, dict):
        return
    nested = component.get("decoders") or component.get("pretokenizers")
    if component.get("type") == "Sequence" and isinstance(nested, list):
        for inner in nested:
            yield from _steps(inner)
    else:
        yield component


def _piece_decoder(config: dict[str, Any]) -> tuple[Callable[[str], bytes], bool]:
    """The bytes of one piece, and whether pieces are in the byte map."""
    steps = list(_steps(config.get("decoder")))
    if not steps:
        # Without a decoder the pre-tokenizer still says how bytes were written.
        steps = [step for step in _steps(config.get("pre_tokenizer")) if step.get("type") in ("ByteLevel", "Metaspace")]
    if not steps:
        raise VocabularyError(f"the tokenizer has no decoder, so the text of its tokens is not known ({_WAY_OUT})")
    if any(step.get("type") == "ByteLevel" for step in steps):
        others = sorted({str(step.get("type")) for step in steps} - {"ByteLevel", "Fuse"})
        if others:
            raise VocabularyError(f"the tokenizer's decoder mixes ByteLevel with {', '.join(others)} ({_WAY_OUT})")
        return from_byte_map, True

    replacements: list[tuple[str, str]] = []
    has_byte_fallback = False
    fused = False
    for step in steps:
        kind = step.get("type")
        if kind == "Metaspace":
            replacements.append((step.get("replacement", "\u2581"), " "))
        elif kind == "Replace" and isinstance(step.get("pattern"), dict) and "String" in step["pattern"]:
            replacements.append((step["pattern"]["String"], step["content"]))
        elif kind == "ByteFallback":
            has_byte_fallback = True
        elif kind == "Fuse":
            fused = True
        elif kind == "Strip" and fused:
            pass  # after Fuse it trims the whole text, not a token
        else:
            raise VocabularyError(f"the tokenizer's decoder {kind!r} gives no bytes to a token by itself ({_WAY_OUT})")

    def decode(piece: str) -> bytes:
        if has_byte_fallback:
            byte = byte_fallback(piece)
            if byte is not None:
                return byte
        for old, new in replacements:
            piece = piece.replace(old, new)
        return piece.encode()

    return decode, False


# --- the canonical split ----------------------------------------------------------------------------------------------


def _mid_text_tokenizer(text: str) -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise VocabularyError("splitting text with this vocabulary needs the package tokenizers (pip install tokenizers)") from error
    config = _parse(text)
    config["normalizer"] = _without_prefix(config.get("normalizer"), "normalizers")
    config["pre_tokenizer"] = _without_prefix(config.get("pre_tokenizer"), "pretokenizers")
    config["post_processor"] = config["truncation"] = config["padding"] = None
    try:
        tokenizer = tokenizers.Tokenizer.from_str(json.dumps(config))
    except Exception as error:  # the binding raises bare Exception
        raise VocabularyError(f"the package tokenizers cannot load this tokenizer: {error}") from error
    tokenizer.encode_special_tokens = True  # the *names* of special tokens in a text are text
    return tokenizer


def _without_prefix(component: Any, nested: str) -> Any:
    """The component without what it adds before a text (a space, or `▁`)."""
    if not isinstance(component, dict):
        return component
    kind = component.get("type")
    if kind == "Sequence":
        inner = [_without_prefix(step, nested) for step in component.get(nested) or []]
        return component | {nested: [step for step in inner if step is not None]}
    if kind == "Prepend":
        return None
    if kind == "ByteLevel":
        return component | {"add_prefix_space": False}
    if kind == "Metaspace":
        return {name: value for name, value in component.items() if name != "add_prefix_space"} | {"prepend_scheme": "never"}
    return component


# --- neighbours of a tokenizer.json -----------------------------------------------------------------------------------


def _neighbours(folder: Path) -> tuple[tuple[str, ...], tuple[int, ...]]:
    names: dict[str, None] = {}
    ids: dict[int, None] = {}
    for file_name in ("tokenizer_config.json", "special_tokens_map.json", "generation_config.json"):
        path = folder / file_name
        if not path.is_file():
            continue
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise VocabularyError(f"cannot read {str(path)!r}, which names the end tokens: {error}") from error
        if not isinstance(config, dict):
            raise VocabularyError(f"{str(path)!r} is not a JSON object")
        name = config.get("eos_token")
        name = name.get("content") if isinstance(name, dict) else name
        if isinstance(name, str):
            names[name] = None
        listed = config.get("eos_token_id")
        for token_id in listed if isinstance(listed, list) else [listed]:
            if isinstance(token_id, int) and not isinstance(token_id, bool):
                ids[token_id] = None
    return tuple(names), tuple(ids)
