"""A gateway in front of another one, which speaks Ollama's API too but takes every constraint."""

from __future__ import annotations

import httpx
import pytest
from tests.server.stand_in_backend import StandInBackend

from scansion.errors import ModelError
from scansion.models.upstream import UpstreamServer
from scansion.server.application import create_application
from scansion.server.upstream_backend import UpstreamBackend
from scansion.server.upstream_doctor import examine_upstream

MESSAGES = [{"role": "user", "content": "x"}]
UNIQUE = {"type": "array", "items": {"enum": [1, 22]}, "uniqueItems": True, "minItems": 2}


@pytest.fixture(scope="module")
def chain(running):
    backend = StandInBackend()
    with running(create_application(backend)) as behind, running(create_application(UpstreamBackend([behind.url]))) as front:
        front.behind = behind
        front.backend = backend
        yield front


@pytest.mark.parametrize(
    ("asked", "content", "by"),
    [
        ({"json_schema": UNIQUE}, {"[1,22]", "[22,1]"}, "upstream schema"),  # which no other upstream can be told
        ({"json_schema": {"const": {"a": 1, "b": 2}}, "scansion": {"whitespace": "spaced"}}, '{"a": 1, "b": 2}', "upstream schema"),
        ({"guided_regex": "b{3}"}, "bbb", "upstream regex"),
        ({"guided_choice": ["yes"]}, "yes", "upstream choice"),
        ({"grammar": 'root ::= "a" [b]'}, "ab", "upstream grammar"),
        ({"grammar": '%llguidance {}\nstart: X\nX: "x" & /[a-z]/'}, "x", "upstream grammar"),
        ({"response_format": {"type": "json_object"}}, "{}", "upstream json"),
    ],
)
def test_every_constraint_is_passed_on(chain, asked, content, by):
    answer = httpx.post(chain.url + "/v1/chat/completions", json={"messages": MESSAGES, **asked}, timeout=20)
    assert answer.status_code == 200, answer.text
    assert answer.json()["choices"][0]["message"]["content"] in ({content} if isinstance(content, str) else content)
    report = answer.json()["x_scansion"]
    assert (report["enforced_by"], report["upstream"]["kind"], report["complete"]) == (by, "scansion", True)


def test_parameters_keep_their_meaning(chain):
    more = {"reasoning_effort": "low", "repeat_last_n": 7, "repeat_penalty": 1.5, "dry_multiplier": 0.5, "seed": 4, "stop": ["z"]}
    answer = httpx.post(chain.url + "/v1/chat/completions", json={"messages": MESSAGES, "max_tokens": 50, **more}, timeout=20)
    assert answer.status_code == 200, answer.text
    job = chain.backend.jobs[-1]
    assert (job.think, job.seed, job.stop, job.max_tokens) == (0.25, 4, ("z",), 50)
    assert job.sampling == {"penalty_last_n": 7, "repeat_penalty": 1.5, "dry_multiplier": 0.5}


def test_the_doctor_knows_it(chain):
    findings = examine_upstream(chain.behind.url)
    assert all(finding.good for finding in findings), findings
    assert any(finding.text.startswith("scansion, build") for finding in findings)


@pytest.mark.parametrize("url", ["http://[::1", "http://127.0.0.1:99999", "http://", "ftp://host", "localhost:80"])
def test_what_is_no_upstream(url):
    with pytest.raises(ModelError, match="is no upstream"):
        UpstreamServer(url)
