"""One case for each row of the table in docs/server.md: what a request asks its answer to keep to."""

from __future__ import annotations

import json

import pytest

from scansion.server.errors import ApiError
from scansion.server.extension import Extension, read_extension
from scansion.server.json_text import read_object
from scansion.server.resolver import resolve_ollama, resolve_openai, resolve_responses

SCHEMA = {"type": "integer", "minimum": 2}
TEXT = '{"type": "integer", "minimum": 2}'
GBNF = 'root ::= "a"'
LARK = '%llguidance {}\nstart: "a"'
TAG = {"begin": "<f>", "schema": SCHEMA, "end": "</f>"}
TAG_TEXT = json.dumps(
    {
        "tags": [{"begin": "<f>", "end": "</f>", "kind": "json_schema", "content": TEXT}],
        "triggers": ["<f>"],
        "at_least_one": False,
        "stop_after_first": False,
    }
)
OBJECT = ("json_object", '{"type": "object"}')

OPENAI = [
    ({}, None),
    ({"response_format": None}, None),
    ({"response_format": {"type": "text"}}, None),
    ({"response_format": {"type": "json_object"}}, OBJECT),
    ({"response_format": {"type": "json_object", "schema": {}}}, OBJECT),
    ({"response_format": {"type": "json_object", "schema": None}}, OBJECT),
    (
        {"response_format": {"type": "json_object", "schema": {"type": "object", "minProperties": 1}}},
        ("json_schema", '{"type": "object", "minProperties": 1}'),
    ),
    (
        {"response_format": {"type": "json_object", "schema": {"minProperties": 1}}},
        ("json_schema", '{"type": "object", "minProperties": 1}'),
    ),
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": SCHEMA}}}, ("json_schema", TEXT)),
    ({"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA, "strict": False}}}, ("json_schema", TEXT)),
    ({"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}}, ("json_schema", "{}")),
    ({"response_format": {"type": "json_schema", "json_schema": {"schema": True}}}, ("json_schema", "true")),
    ({"response_format": {"type": "json_schema", "schema": SCHEMA}}, ("json_schema", TEXT)),
    ({"response_format": {"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": True}}, ("json_schema", TEXT)),
    ({"response_format": {"type": "structural_tag", "structures": [TAG], "triggers": ["<f>"]}}, ("structural_tag", TAG_TEXT)),
    (
        {
            "response_format": {
                "type": "structural_tag",
                "format": {
                    "type": "triggered_tags",
                    "triggers": ["<f>"],
                    "tags": [{"type": "tag", "begin": "<f>", "content": {"type": "json_schema", "json_schema": SCHEMA}, "end": "</f>"}],
                },
            }
        },
        ("structural_tag", TAG_TEXT),
    ),
    ({"response_format": {"type": "gbnf", "grammar": GBNF}}, ("gbnf", GBNF)),
    ({"response_format": {"type": "lark", "grammar": LARK}}, ("lark", LARK)),
    ({"response_format": {"type": "regex", "pattern": "a+"}}, ("regex", "a+")),
    ({"response_format": {"type": "regex", "regex": "a+"}}, ("regex", "a+")),
    ({"json_schema": SCHEMA}, ("json_schema", TEXT)),
    ({"json_schema": {}}, OBJECT),
    ({"grammar": ""}, None),
    ({"grammar": GBNF}, ("gbnf", GBNF)),
    ({"grammar": LARK}, ("lark", LARK)),
    ({"structured_outputs": {"json": SCHEMA}}, ("json_schema", TEXT)),
    ({"structured_outputs": {"json": TEXT}}, ("json_schema", TEXT)),
    ({"structured_outputs": {"regex": "a+"}}, ("regex", "a+")),
    ({"structured_outputs": {"choice": ["a", "b"]}}, ("choices", '["a", "b"]')),
    ({"structured_outputs": {"grammar": GBNF}}, ("gbnf", GBNF)),
    ({"structured_outputs": {"grammar": 'start: "a"'}}, ("lark", 'start: "a"')),
    ({"structured_outputs": {"json_object": True}}, OBJECT),
    ({"structured_outputs": {"structural_tag": json.dumps({"structures": [TAG], "triggers": ["<f>"]})}}, ("structural_tag", TAG_TEXT)),
    ({"guided_json": SCHEMA}, ("json_schema", TEXT)),
    ({"guided_json": TEXT}, ("json_schema", TEXT)),
    ({"guided_regex": "a+"}, ("regex", "a+")),
    ({"guided_choice": ["a", "b"]}, ("choices", '["a", "b"]')),
    ({"guided_grammar": GBNF}, ("gbnf", GBNF)),
    ({"response_format": {"type": "text"}, "grammar": GBNF}, ("gbnf", GBNF)),
]

REFUSED = [
    ({"response_format": []}, 400, "response_format"),
    ({"response_format": {}}, 400, "response_format.type"),
    ({"response_format": {"type": 1}}, 400, "response_format.type"),
    ({"response_format": {"type": "json"}}, 400, "response_format.type"),
    ({"response_format": {"type": "text", "schema": {}}}, 400, "response_format.schema"),
    ({"response_format": {"type": "json_schema"}}, 400, "response_format.json_schema.schema"),
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "n"}}}, 400, "response_format.json_schema.schema"),
    ({"response_format": {"type": "json_schema", "json_schema": {"schema": None}}}, 400, "response_format.json_schema.schema"),
    ({"response_format": {"type": "json_schema", "json_schema": {"schema": TEXT}}}, 400, "response_format.json_schema.schema"),
    ({"response_format": {"type": "json_schema", "json_schema": [SCHEMA]}}, 400, "response_format.json_schema"),
    ({"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA, "shema": 1}}}, 400, "response_format.json_schema.shema"),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA, "strict": "yes"}}},
        400,
        "response_format.json_schema.strict",
    ),
    ({"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}, "schema": SCHEMA}}, 400, "response_format.schema"),
    ({"response_format": {"type": "json_object", "schema": "x"}}, 400, "response_format.schema"),
    ({"response_format": {"type": "gbnf"}}, 400, "response_format.grammar"),
    ({"response_format": {"type": "gbnf", "grammar": ""}}, 400, "response_format.grammar"),
    ({"response_format": {"type": "gbnf", "grammar": 1}}, 400, "response_format.grammar"),
    ({"response_format": {"type": "regex", "pattern": "a", "regex": "b"}}, 400, "response_format.pattern"),
    ({"response_format": {"type": "structural_tag"}}, 400, "response_format.structures"),
    (
        {"response_format": {"type": "structural_tag", "structures": [{"begin": "", "schema": {}}]}},
        400,
        "response_format.structures.0.begin",
    ),
    ({"response_format": {"type": "structural_tag", "format": {"type": "sequence"}}}, 422, "response_format.format.type"),
    ({"json_schema": None}, 400, "json_schema"),
    ({"json_schema": "{}"}, 400, "json_schema"),
    ({"json_schema": 3}, 400, "json_schema"),
    ({"grammar": {}}, 400, "grammar"),
    ({"structured_outputs": {}}, 400, "structured_outputs"),
    ({"structured_outputs": {"json": SCHEMA, "regex": "a"}}, 400, "structured_outputs"),
    ({"structured_outputs": {"jsn": SCHEMA}}, 400, "structured_outputs.jsn"),
    ({"structured_outputs": {"json": SCHEMA, "whitespace_pattern": " "}}, 400, "structured_outputs.whitespace_pattern"),
    ({"structured_outputs": {"choice": []}}, 400, "structured_outputs.choice"),
    ({"guided_choice": "ab"}, 400, "guided_choice"),
    ({"grammar": GBNF, "response_format": {"type": "json_object"}}, 400, "grammar"),
    ({"json_schema": SCHEMA, "grammar": GBNF}, 400, "grammar"),
    ({"guided_json": SCHEMA, "response_format": {"type": "json_object"}}, 400, "guided_json"),
    ({"grammar": "x" * (1 << 20) + "y"}, 413, "grammar"),
]


@pytest.mark.parametrize(("body", "expected"), OPENAI)
def test_openai(body, expected):
    recipe = resolve_openai(body, Extension()).recipe
    assert (None if recipe is None else (recipe.kind, recipe.text)) == expected


@pytest.mark.parametrize(("body", "status", "param"), REFUSED)
def test_openai_refuses(body, status, param):
    with pytest.raises(ApiError) as caught:
        resolve_openai(body, Extension())
    assert (caught.value.status, caught.value.param) == (status, param)
    assert len(caught.value.message) > 10


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ({}, None),
        ({"format": {"type": "text"}, "verbosity": "low"}, None),
        ({"format": {"type": "json_object"}}, OBJECT),
        ({"format": {"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": True}}, ("json_schema", TEXT)),
    ],
)
def test_responses(text, expected):
    recipe = resolve_responses(text, Extension()).recipe
    assert (None if recipe is None else (recipe.kind, recipe.text)) == expected


@pytest.mark.parametrize(
    ("text", "param"),
    [
        ({"formt": {}}, "text.formt"),
        ({"format": {"type": "json_schema", "name": "n"}}, "text.format.schema"),
        ({"format": 1}, "text.format"),
    ],
)
def test_responses_refuses(text, param):
    with pytest.raises(ApiError) as caught:
        resolve_responses(text, Extension())
    assert caught.value.param == param


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("", None),
        (None, None),
        ("json", OBJECT),
        ({}, OBJECT),
        (SCHEMA, ("json_schema", TEXT)),
    ],
)
def test_ollama(form, expected):
    recipe = resolve_ollama({"format": form}, Extension()).recipe
    assert (None if recipe is None else (recipe.kind, recipe.text)) == expected


@pytest.mark.parametrize("form", [TEXT, "yaml", [SCHEMA], True, 3])
def test_ollama_refuses(form):
    with pytest.raises(ApiError) as caught:
        resolve_ollama({"format": form}, Extension())
    assert caught.value.status == 400
    assert caught.value.param == "format"
    assert 'must be "json" or a JSON Schema object' in caught.value.message
    if isinstance(form, str):
        assert "string" in caught.value.message


def test_drafts_only():
    extension = read_extension({"mode": "assist", "draft_max": 24})
    assert resolve_openai({"grammar": GBNF}, extension).recipe is not None
    assert (extension.mode, extension.draft_max) == ("assist", 24)
    with pytest.raises(ApiError, match="drafts from a grammar"):
        resolve_openai({}, extension)


def test_schema_options_go_with_schemas():
    extension = read_extension({"whitespace": "compact"})
    recipe = resolve_openai({"json_schema": SCHEMA}, extension).recipe
    assert recipe is not None
    assert recipe.options == (("whitespace", "compact"),)
    with pytest.raises(ApiError, match="is about JSON Schemas"):
        resolve_openai({"grammar": GBNF}, extension)


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"mod": "assist"}, "scansion.mod"),
        ({"mode": "help"}, "scansion.mode"),
        ({"draft": ["grammer"]}, "scansion.draft"),
        ({"draft_max": 0}, "scansion.draft_max"),
        ({"draft_max": 49}, "scansion.draft_max"),
        ({"retries": 2}, "scansion.retries"),
        ({"on_unsupported": "ignore"}, "scansion.on_unsupported"),
    ],
)
def test_extension_refuses(options, param):
    with pytest.raises(ApiError) as caught:
        read_extension(options)
    assert caught.value.param == param


def test_numbers_keep_their_spelling():
    schema = '{"type": "number", "minimum": 2.0, "maximum": 1e2, "multipleOf": 0.10, "exclusiveMaximum": 100000000000000000000.5}'
    body = read_object(b'{"json_schema": ' + schema.encode() + b"}")
    recipe = resolve_openai(body, Extension()).recipe
    assert recipe is not None
    assert recipe.text == schema
    integer = resolve_openai(read_object(b'{"json_schema": {"const": 2.0}}'), Extension()).recipe
    assert integer is not None
    assert integer.text == '{"const": 2.0}'
