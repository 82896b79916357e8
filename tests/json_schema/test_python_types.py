"""Python types as schemas."""

from __future__ import annotations

import dataclasses
import typing

import pytest
from tests.json_schema.judge import takes

import scansion

pydantic = pytest.importorskip("pydantic")


class Person(pydantic.BaseModel):
    name: str
    age: int = pydantic.Field(ge=0)
    friends: list[Person] = pydantic.Field(default_factory=list)


@dataclasses.dataclass
class Point:
    x: float
    kind: typing.Literal["a", "b"] = "a"


class Options(typing.TypedDict, total=False):
    level: typing.Required[int]
    note: str


def forecast(city: str, days: int = 3) -> str:
    return f"{city} {days}"


def test_pydantic_model():
    assert takes(Person, '{"name": "A", "age": 3, "friends": [{"name": "B", "age": 0}]}')
    assert not takes(Person, '{"name": "A", "age": -1}')
    assert not takes(Person, '{"name": "A"}')


def test_dataclass():
    assert takes(Point, '{"x": 1.5, "kind": "b"}')
    assert not takes(Point, '{"x": 1.5, "kind": "c"}')


def test_typed_dict():
    assert takes(Options, '{"level": 1}')
    assert not takes(Options, '{"note": "x"}')


def test_function_parameters():
    assert takes(forecast, '{"city": "Oslo", "days": 2}')
    assert takes(forecast, '{"city": "Oslo"}')
    assert not takes(forecast, '{"city": "Oslo", "week": 1}')
    assert not takes(forecast, "{}")


def test_annotations():
    assert takes(list[int], "[1, 2]")
    assert not takes(list[int], '["x"]')
    assert takes(int | None, "null")


@pytest.mark.parametrize("kind", [object(), lambda *rest: rest, 1 + 2j])
def test_other_objects_are_refused(kind):
    with pytest.raises(scansion.GrammarError):
        scansion.Grammar.from_json_schema(kind)
