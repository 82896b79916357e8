"""Partial values as the Python types they are becoming: Pydantic models and dataclasses, nested in anything."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

__all__ = ["partial_instance"]


def partial_instance(kind: Any, value: Any) -> Any:
    """``value``, a piece of JSON, in the shape of ``kind`` and without validation.

    Args:
        kind: a Pydantic model, a dataclass, or a type made of them (``list[Person]``, ``Person | None``).
        value: of dict, list, str, int, float, bool or None; may lack what has not come yet.

    Returns:
        Where ``kind`` has a model or dataclass for an object, an instance of it whose fields that have not come are None (a
        Pydantic model's ``model_fields_set`` names those that have). Everything else is as in JSON: a date is still a text.
    """
    if isinstance(value, dict):
        fields = _fields(kind)
        if fields is not None:
            come = {name: partial_instance(hint, value[key]) for name, (key, hint) in fields.items() if key in value}
            return _make(kind, {name: come.get(name) for name in fields}, set(come))
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return partial_instance(arguments[0], value)
    if origin in (Union, types.UnionType):
        chosen = next((member for member in arguments if _suits(member, value)), None)
        return value if chosen is None else partial_instance(chosen, value)
    if isinstance(value, list) and isinstance(origin, type) and issubclass(origin, Sequence | set | frozenset) and arguments:
        if origin is tuple and arguments[-1] is not Ellipsis:
            return [partial_instance(hint, item) for hint, item in zip(arguments, value, strict=False)]
        return [partial_instance(arguments[0], item) for item in value]
    if isinstance(value, dict) and isinstance(origin, type) and issubclass(origin, Mapping) and len(arguments) == 2:
        return {key: partial_instance(arguments[1], item) for key, item in value.items()}
    return value


def _fields(kind: Any) -> dict[str, tuple[str, Any]] | None:
    """For each field its key in JSON and its type; None where ``kind`` is no model and no dataclass."""
    if not isinstance(kind, type):
        return None
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        return {field.name: (field.name, hints[field.name]) for field in dataclasses.fields(kind)}
    models = getattr(kind, "model_fields", None)
    if not isinstance(models, dict) or not hasattr(kind, "model_construct"):
        return None
    fields = {}
    for name, field in models.items():
        alias = field.validation_alias or field.alias
        fields[name] = (alias if isinstance(alias, str) else name, field.annotation)
    return fields


def _make(kind: Any, values: dict[str, Any], come: set[str]) -> Any:
    instance: Any
    if not hasattr(kind, "model_construct"):
        instance = kind.__new__(kind)
        for name, value in values.items():
            object.__setattr__(instance, name, value)  # also where the class is frozen
        return instance
    instance = kind.model_construct(_fields_set=come)
    for name, value in values.items():
        instance.__dict__[name] = value  # by name, whatever the aliases
    return instance


def _suits(kind: Any, value: Any) -> bool:
    """Whether a member of a union may be what ``value`` becomes, as far as its outermost shape says."""
    if get_origin(kind) is Annotated:
        return _suits(get_args(kind)[0], value)
    if isinstance(value, dict):
        fields = _fields(kind)
        if fields is not None:
            return value.keys() <= {key for key, _ in fields.values()}
        origin = get_origin(kind) or kind
        return isinstance(origin, type) and issubclass(origin, Mapping)
    if isinstance(value, list):
        origin = get_origin(kind) or kind
        return isinstance(origin, type) and issubclass(origin, Sequence | set | frozenset) and not issubclass(origin, str)
    return isinstance(kind, type) and isinstance(value, kind)
