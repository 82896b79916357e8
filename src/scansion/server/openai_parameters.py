"""The parameters of OpenAI's endpoints, with the extensions of llama-server and vLLM that are honoured."""

from __future__ import annotations

from scansion.server.parameters import ACCEPTED, REFUSED, Field, Table

__all__ = ["CHAT", "COMPLETIONS", "MAX_CHOICES", "RESPONSES", "SAMPLING"]

MAX_CHOICES = 16
_MAX_TOKENS = 1 << 20
_SEED = 2**63 - 1

SAMPLING: Table = {
    "temperature": Field("number", low=0, high=100, about="0 takes the likeliest token; 1 where not given."),
    "top_p": Field("number", low=0, high=1),
    "frequency_penalty": Field("number", low=-2, high=2),
    "presence_penalty": Field("number", low=-2, high=2),
    "seed": Field("integer", low=-_SEED - 1, high=_SEED, about="Negative: a fresh one."),
    "logit_bias": Field("object", high=1024, about="Token id to -100..100."),
    # llama-server's and vLLM's
    "top_k": Field("integer", low=-1, high=10_000_000, about="0 or -1: off."),
    "min_p": Field("number", low=0, high=1),
    "typical_p": Field("number", low=0, high=1),
    "top_n_sigma": Field("number", low=-1, high=100),
    "xtc_probability": Field("number", low=0, high=1),
    "xtc_threshold": Field("number", low=0, high=1),
    "repeat_penalty": Field("number", low=0.01, high=100),
    "repetition_penalty": Field("number", low=0.01, high=100, about="vLLM's name of repeat_penalty."),
    "repeat_last_n": Field("integer", low=-1, high=1_000_000),
    "dry_multiplier": Field("number", low=0, high=100),
    "dry_base": Field("number", low=1, high=100),
    "dry_allowed_length": Field("integer", low=0, high=1_000_000),
    "dry_penalty_last_n": Field("integer", low=-1, high=1_000_000),
    "mirostat": Field("integer", low=0, high=2),
    "mirostat_tau": Field("number", low=0, high=1000),
    "mirostat_eta": Field("number", low=0, high=1000),
}

_CONSTRAINTS: Table = {
    "grammar": Field("any", about="GBNF, or Lark after %llguidance; the empty string is none."),
    "json_schema": Field("any", null_counts=True, about="A JSON Schema."),
    "structured_outputs": Field("any", about="vLLM: json, regex, choice, grammar, json_object or structural_tag."),
    "guided_json": Field("any", about="vLLM."),
    "guided_regex": Field("any", about="vLLM."),
    "guided_choice": Field("any", about="vLLM."),
    "guided_grammar": Field("any", about="vLLM."),
    "guided_decoding_backend": Field("any", ACCEPTED),
    "guided_whitespace_pattern": Field("any", REFUSED, about='use "scansion": {"whitespace": ...}'),
    "scansion": Field("object", about="This gateway's own options."),
}

_COMMON: Table = {
    "model": Field("string"),
    "stream": Field("boolean"),
    "user": Field("any", ACCEPTED),
    "metadata": Field("any", ACCEPTED),
    "store": Field("any", ACCEPTED),
    "service_tier": Field("any", ACCEPTED),
    "safety_identifier": Field("any", ACCEPTED),
    "prompt_cache_key": Field("any", ACCEPTED),
    "prompt_cache_retention": Field("any", ACCEPTED),
    "prompt_cache_options": Field("any", ACCEPTED),
    "cache_prompt": Field("any", ACCEPTED),
    "priority": Field("any", ACCEPTED),
    "request_id": Field("any", ACCEPTED),
    "timings_per_token": Field("any", ACCEPTED),
}

CHAT: Table = {
    **_COMMON,
    "messages": Field("array", required=True, low=1, high=4096),
    **SAMPLING,
    "n": Field("integer", low=1, high=MAX_CHOICES),
    "stop": Field("any", about="A string or up to 16 of them."),
    "max_tokens": Field("integer", low=-1, high=_MAX_TOKENS, about="Thinking included; -1: as many as fit."),
    "max_completion_tokens": Field("integer", low=-1, high=_MAX_TOKENS),
    "logprobs": Field("boolean"),
    "top_logprobs": Field("integer", low=0, high=20),
    "stream_options": Field("object"),
    "response_format": Field("any"),
    **_CONSTRAINTS,
    "tools": Field("array", high=128),
    "tool_choice": Field("any"),
    "parallel_tool_calls": Field("boolean"),
    "reasoning_effort": Field("string", choices=("none", "minimal", "low", "medium", "high", "xhigh", "max")),
    "chat_template_kwargs": Field("object", high=64),
    "reasoning_format": Field("any", ACCEPTED, about="Reasoning always comes back apart."),
    "verbosity": Field("any", ACCEPTED),
    "prediction": Field("any", ACCEPTED),
    "modalities": Field("array", REFUSED, choices=(["text"],), about="only text is written"),
    "audio": Field("any", REFUSED, about="only text is written"),
    "web_search_options": Field("any", REFUSED, about="nothing is fetched"),
    "moderation": Field("any", REFUSED, about="nothing is moderated"),
    "functions": Field("any", REFUSED, about="use tools"),
    "function_call": Field("any", REFUSED, about="use tool_choice"),
}

COMPLETIONS: Table = {
    **_COMMON,
    "prompt": Field("any", required=True, about="A string, or up to 16 of them."),
    **SAMPLING,
    "n": Field("integer", low=1, high=MAX_CHOICES),
    "stop": Field("any"),
    "max_tokens": Field("integer", low=-1, high=_MAX_TOKENS, about="16 where not given; -1: as many as fit."),
    "logprobs": Field("any", about="How many alternatives, 0 to 20."),
    "stream_options": Field("object"),
    "response_format": Field("any"),
    **_CONSTRAINTS,
    "echo": Field("any", REFUSED, choices=(False,), about="put the prompt in front yourself"),
    "best_of": Field("any", REFUSED, choices=(1,), about="use n"),
    "suffix": Field("any", REFUSED, choices=("",), about="text is only written after the prompt"),
}

RESPONSES: Table = {
    **_COMMON,
    "input": Field("any", required=True, about="A string, or a list of items."),
    "instructions": Field("string"),
    "temperature": SAMPLING["temperature"],
    "top_p": SAMPLING["top_p"],
    "seed": SAMPLING["seed"],
    "max_output_tokens": Field("integer", low=1, high=_MAX_TOKENS),
    "text": Field("object", about="format: text, json_object or json_schema."),
    "tools": Field("array", high=128),
    "tool_choice": Field("any"),
    "parallel_tool_calls": Field("boolean"),
    "reasoning": Field("object", about="effort."),
    "top_logprobs": Field("integer", low=0, high=20),
    "scansion": _CONSTRAINTS["scansion"],
    "include": Field("array", about="message.output_text.logprobs."),
    "stream_options": Field("any", ACCEPTED),
    "truncation": Field("any", REFUSED, choices=("disabled",), about="shorten the input yourself"),
    "previous_response_id": Field("any", REFUSED, about="nothing is stored: send the whole conversation as input"),
    "conversation": Field("any", REFUSED, about="nothing is stored: send the whole conversation as input"),
    "background": Field("any", REFUSED, choices=(False,), about="answers are not kept"),
    "prompt": Field("any", REFUSED, about="nothing is stored: send instructions and input"),
    "background_options": Field("any", REFUSED, about="answers are not kept"),
    "context_management": Field("any", REFUSED, about="shorten the input yourself"),
    "moderation": Field("any", REFUSED, about="nothing is moderated"),
    "image": Field("any", REFUSED, about="only text is written"),
    "access_programs": Field("any", REFUSED, about="there are no programs on this side"),
    "max_tool_calls": Field("any", REFUSED, about="there are no tools on this side"),
}
