"""Which tokens end a text where the tokenizer itself does not say."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["END_TOKEN_NAMES", "end_tokens_by_name"]

END_TOKEN_NAMES = (
    "</s>",  # SentencePiece's default; Llama 2, Mistral
    "<eos>",  # Gemma
    "<end_of_turn>",  # Gemma 2, 3
    "<turn|>",  # Gemma 4
    "<|endoftext|>",  # GPT-2, Qwen, Phi
    "<|end_of_text|>",  # Llama 3, Granite
    "<|eot_id|>",  # Llama 3, end of turn
    "<|eom_id|>",  # Llama 3.1, end of message (a tool call follows)
    "<|eot|>",  # Llama 4
    "<|eom|>",
    "<|im_end|>",  # ChatML: Qwen, SmolLM2, Hermes
    "<|end|>",  # Phi 3
    "<|return|>",  # Harmony (gpt-oss), end of the answer
    "<|call|>",  # Harmony, end of a tool call
    "<|END_OF_TURN_TOKEN|>",  # Command R
    "<|endofturn|>",
    "<|end_of_turn|>",
    "<|eos|>",
    "<end_of_utterance>",  # SmolVLM
    "<\uff5cend\u2581of\u2581sentence\uff5c>",  # DeepSeek
    "[EOS]",
)


def end_tokens_by_name(names: Mapping[str, int]) -> list[int]:
    """Ids of the known end tokens among ``names``, ascending.

    In Harmony ``<|end|>`` ends one message of several, so it does not end the answer where ``<|return|>`` exists.
    """
    found = {names[name] for name in END_TOKEN_NAMES if name in names}
    if "<|return|>" in names:
        found.discard(names.get("<|end|>", -1))
    return sorted(found)
