"""Chat templates: the Jinja text in a model file, run in a sandbox."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from scansion.errors import ModelError

__all__ = ["ChatTemplate"]

_MAX_TEMPLATE = 1 << 20


class ChatTemplate:
    """A model's own way of writing a conversation.

    The names a template may use besides the messages are those the ``transformers`` library gives it
    (``add_generation_prompt``, ``bos_token``, ``eos_token``, ``raise_exception``, ``strftime_now``, ``tojson``).
    """

    def __init__(self, source: str, *, bos_token: str, eos_token: str) -> None:
        """Compile a template.

        Raises:
            ModelError: jinja2 is not installed, or the template is not valid Jinja.
        """
        if len(source) > _MAX_TEMPLATE:
            raise ModelError(f"the model's chat template has {len(source):,} characters, more than {_MAX_TEMPLATE:,}")
        try:
            import jinja2
            from jinja2.sandbox import ImmutableSandboxedEnvironment
        except ImportError:
            raise ModelError("chat templates need jinja2: pip install 'scansion[local]'") from None
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _raise_exception
        environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
        try:
            self._template = environment.from_string(source)
        except jinja2.TemplateSyntaxError as error:
            raise ModelError(f"the model's chat template is not valid: line {error.lineno}: {error.message}") from None
        self.source = source
        self._tokens = {"bos_token": bos_token, "eos_token": eos_token}

    def render(self, messages: Sequence[Mapping[str, Any]], **arguments: Any) -> str:
        """The conversation as text, ending where the assistant speaks next.

        Raises:
            ModelError: the template refuses these messages (it may not know a role), in its own words.
        """
        values: dict[str, Any] = {"add_generation_prompt": True, **self._tokens, **arguments, "messages": [dict(m) for m in messages]}
        try:
            return self._template.render(values)
        except Exception as error:  # whatever a template does wrong (also TypeError, KeyError) is the template's fault
            raise ModelError(f"the model's chat template cannot write this conversation: {error}") from None


def _to_json(value: Any, ensure_ascii: bool = False, indent: int | None = None, separators: Any = None, sort_keys: bool = False) -> str:
    # Jinja's own tojson escapes <, > and & for HTML, which would put \u003c into prompts.
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> None:
    raise ValueError(message)
