"""Python types as schemas: Pydantic models, dataclasses, TypedDicts, annotations, and functions (an object of their parameters).

Pydantic writes the schema; it is imported only here, and only when such a type is given.
"""

from __future__ import annotations

import inspect
import sys
import typing
from typing import Any

from scansion.errors import GrammarError

__all__ = ["schema_of"]


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a Python type or of a function's parameters.

    Raises:
        GrammarError: not something a schema can be made of, or pydantic is not installed.
    """
    try:
        import pydantic
    except ImportError:
        raise GrammarError(
            f"a schema must be JSON text, a dict or a bool, not {_name(kind)}",
            construct="schema",
            hint="for Python types, install pydantic",
        ) from None
    try:
        if inspect.isroutine(kind) or isinstance(kind, type(lambda: None)):
            return _parameters(kind, pydantic)
        return dict(pydantic.TypeAdapter(_readable(kind)).json_schema())
    except GrammarError:
        raise
    except (pydantic.errors.PydanticUserError, TypeError, NameError) as error:
        reason = str(error).splitlines()[0]
        raise GrammarError(
            f"no schema can be made of {_name(kind)}: {reason}",
            construct="schema",
            hint="give JSON text, a dict, a bool, a Pydantic model, dataclass, TypedDict, annotation or function",
        ) from None


def _readable(kind: Any) -> Any:
    """The same type as pydantic can read it: before Python 3.12 it refuses ``typing.TypedDict`` but takes that of typing_extensions."""
    if sys.version_info >= (3, 12) or not typing.is_typeddict(kind):
        return kind
    import typing_extensions

    # The class's own record of required keys is wrong where annotations are strings, so the qualifiers are read here.
    fields: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(kind, include_extras=True).items():
        required = kind.__total__
        if typing.get_origin(hint) in (typing.Required, typing.NotRequired):
            required = typing.get_origin(hint) is typing.Required
            (hint,) = typing.get_args(hint)
        qualifier = typing_extensions.Required if required else typing_extensions.NotRequired
        fields[name] = qualifier[_readable(hint)]
    return typing_extensions.TypedDict(kind.__name__, fields)  # type: ignore[operator]


def _parameters(function: Any, pydantic: Any) -> dict[str, Any]:
    """A closed object with a key for each parameter; those without default are required."""
    hints = typing.get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise GrammarError(
                f"the parameter {parameter} of {_name(function)} cannot be passed by name",
                construct="schema",
                hint="give it only parameters that can be passed by name",
            )
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[name] = (hints.get(name, Any), default)
    if any(name.startswith("_") for name in fields):
        raise GrammarError(f"a parameter of {_name(function)} begins with an underscore", construct="schema", hint="rename it")
    config = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=False)
    model = pydantic.create_model(getattr(function, "__name__", "parameters"), __config__=config, **fields)
    return dict(model.model_json_schema())


def _name(kind: Any) -> str:
    return getattr(kind, "__qualname__", None) or f"a value of type {type(kind).__name__}"
