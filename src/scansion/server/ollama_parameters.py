"""The parameters of Ollama's endpoints and of its ``options``."""

from __future__ import annotations

from scansion.server.openai_parameters import SAMPLING as _SAMPLING
from scansion.server.parameters import ACCEPTED, REFUSED, Field, Table

__all__ = ["CHAT", "DEFAULT_SAMPLING", "GENERATE", "OPTIONS", "SHOW"]

DEFAULT_SAMPLING = {"temperature": 0.8, "top_k": 40, "top_p": 0.9, "repeat_penalty": 1.1}
"""What Ollama takes where a request says nothing (its Modelfile reference)."""

_LOADING = Field("any", ACCEPTED)

OPTIONS: Table = {
    **{
        name: _SAMPLING[name]
        for name in (
            "temperature",
            "top_p",
            "top_k",
            "min_p",
            "typical_p",
            "repeat_penalty",
            "repeat_last_n",
            "mirostat",
            "mirostat_tau",
            "mirostat_eta",
            "logit_bias",
        )
    },
    "frequency_penalty": Field("number", low=-100, high=100),
    "presence_penalty": Field("number", low=-100, high=100),
    "seed": _SAMPLING["seed"],
    "num_predict": Field("integer", low=-2, high=1 << 20, about="-1 and -2: as many as fit."),
    "stop": Field("any"),
    **dict.fromkeys(
        (
            "num_ctx",
            "num_keep",
            "num_batch",
            "num_gpu",
            "main_gpu",
            "num_thread",
            "num_gqa",
            "low_vram",
            "f16_kv",
            "logits_all",
            "vocab_only",
            "use_mmap",
            "use_mlock",
            "numa",
            "embedding_only",
            "rope_frequency_base",
            "rope_frequency_scale",
            "tfs_z",
            "penalize_newline",
            "draft_num_predict",
        ),
        _LOADING,
    ),
}

_COMMON: Table = {
    "model": Field("string", required=True),
    "stream": Field("boolean", about="True where not given."),
    "format": Field("any", null_counts=True, about='"json", a JSON Schema, or "" and null for free text.'),
    "options": Field("object"),
    "think": Field("any", about="A boolean, or low, medium, high."),
    "logprobs": Field("boolean"),
    "top_logprobs": Field("integer", low=0, high=20),
    "keep_alive": Field("any", ACCEPTED),
    "truncate": Field("any", ACCEPTED),
    "shift": Field("any", ACCEPTED),
    "scansion": Field("object", about="This gateway's own options."),
}

CHAT: Table = {
    **_COMMON,
    "messages": Field("array", high=4096),
    "tools": Field("array", high=128),
}

GENERATE: Table = {
    **_COMMON,
    "prompt": Field("string"),
    "system": Field("string"),
    "raw": Field("boolean", about="The prompt is the whole prompt: no chat template."),
    "suffix": Field("any", REFUSED, choices=("",), about="text is only written after the prompt"),
    "template": Field("any", REFUSED, choices=("",), about="the model's own template is used; or send raw"),
    "images": Field("any", REFUSED, choices=([],), about="only text is read"),
    "context": Field("any", REFUSED, choices=([],), about="send the conversation to /api/chat"),
    "width": Field("any", REFUSED, about="only text is written"),
    "height": Field("any", REFUSED, about="only text is written"),
    "steps": Field("any", REFUSED, about="only text is written"),
}

SHOW: Table = {
    "model": Field("string"),
    "name": Field("string", about="The older name of model."),
    "verbose": Field("boolean", ACCEPTED),
    "system": Field("any", ACCEPTED),
    "template": Field("any", ACCEPTED),
    "options": Field("any", ACCEPTED),
}
