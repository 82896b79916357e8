"""Chat templates run in a sandbox and fail in one sentence."""

from __future__ import annotations

import pytest

from scansion.errors import ModelError
from scansion.models.chat import ChatTemplate

pytest.importorskip("jinja2")


def template(source: str) -> ChatTemplate:
    return ChatTemplate(source, bos_token="<s>", eos_token="</s>")


def test_a_template_sees_what_it_may_expect() -> None:
    text = template(
        "{{ bos_token }}{% for m in messages %}{% if loop.last %}{% continue %}{% endif %}[{{ m.role }}] {{ m.content | tojson }}"
        "{% endfor %}"
        "{% if add_generation_prompt %}{{ eos_token }}{% endif %}{{ tools | length }}"
    ).render([{"role": "user", "content": "<é>"}, {"role": "x", "content": ""}], tools=[1, 2])
    assert text == '<s>[user] "<é>"</s>2'


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{% for %}", "is not valid: line 1"),
        ("{{ raise_exception('roles must alternate') }}", "roles must alternate"),
        ("{{ messages[9].content }}", "cannot write this conversation"),
        ("{{ ''.__class__.__mro__ }}", "cannot write this conversation"),
        ("{{ messages.append(1) }}", "cannot write this conversation"),
    ],
)
def test_faults_are_one_sentence(source: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        template(source).render([{"role": "user", "content": "x"}])
