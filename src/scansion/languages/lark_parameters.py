"""Parameters of Lark rules: 64-bit numbers, what a call makes of them, and conditions on them.

The functions are those of llguidance's ``docs/parametric.md``. A span ``(x, y)`` is the bits from x up to y, y not included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from scansion.languages.source import Source

__all__ = ["Condition", "Parameter"]

_ALL = 2**64 - 1
Span = tuple[int, int]


def _bits(value: int, span: Span) -> int:
    return value >> span[0] & (1 << span[1] - span[0]) - 1


def _full(span: Span) -> int:
    return (1 << span[1] - span[0]) - 1


def _increment(value: int, span: Span) -> int:
    return value if _bits(value, span) == _full(span) else value + (1 << span[0])


def _decrement(value: int, span: Span) -> int:
    return value if _bits(value, span) == 0 else value - (1 << span[0])


_PARAMETERS: dict[str, tuple[str, Callable[..., int]]] = {
    "set_bit": ("n", lambda p, k: p | 1 << k),
    "clear_bit": ("n", lambda p, k: p & ~(1 << k)),
    "bit_and": ("n", lambda p, v: p & v),
    "bit_or": ("n", lambda p, v: p | v),
    "incr": ("s", _increment),
    "decr": ("s", _decrement),
}

_CONDITIONS: dict[str, tuple[str, Callable[..., bool]]] = {
    "true": ("", lambda p: True),
    "bit_clear": ("n", lambda p, k: not p >> k & 1),
    "bit_set": ("n", lambda p, k: bool(p >> k & 1)),
    "is_ones": ("s", lambda p, s: _bits(p, s) == _full(s)),
    "is_zeros": ("s", lambda p, s: _bits(p, s) == 0),
    "eq": ("sn", lambda p, s, v: _bits(p, s) == v),
    "ne": ("sn", lambda p, s, v: _bits(p, s) != v),
    "lt": ("sn", lambda p, s, v: _bits(p, s) < v),
    "le": ("sn", lambda p, s, v: _bits(p, s) <= v),
    "gt": ("sn", lambda p, s, v: _bits(p, s) > v),
    "ge": ("sn", lambda p, s, v: _bits(p, s) >= v),
    "bit_count_eq": ("sn", lambda p, s, k: _bits(p, s).bit_count() == k),
    "bit_count_ne": ("sn", lambda p, s, k: _bits(p, s).bit_count() != k),
    "bit_count_lt": ("sn", lambda p, s, k: _bits(p, s).bit_count() < k),
    "bit_count_le": ("sn", lambda p, s, k: _bits(p, s).bit_count() <= k),
    "bit_count_gt": ("sn", lambda p, s, k: _bits(p, s).bit_count() > k),
    "bit_count_ge": ("sn", lambda p, s, k: _bits(p, s).bit_count() >= k),
    "and": ("cc", lambda p, a, b: a.holds(p) and b.holds(p)),
    "or": ("cc", lambda p, a, b: a.holds(p) or b.holds(p)),
    "not": ("c", lambda p, a: not a.holds(p)),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a call passes on, made from the caller's own parameter."""

    function: str
    arguments: tuple[Any, ...]

    @classmethod
    def checked(cls, source: Source, offset: int, name: str, arguments: Sequence[Any]) -> Parameter:
        _check(source, offset, name, arguments, _PARAMETERS)
        return cls(name, tuple(arguments))

    @property
    def needs_own(self) -> bool:
        """Whether the caller must be parametric itself."""
        return self.function != "const"

    def value(self, own: int) -> int:
        if self.function == "const":
            return int(self.arguments[0]) & _ALL
        if self.function == "self":
            return own
        return _PARAMETERS[self.function][1](own, *self.arguments) & _ALL


@dataclass(frozen=True, slots=True)
class Condition:
    """When an alternative of a parametric rule may be taken."""

    function: str
    arguments: tuple[Any, ...]

    @classmethod
    def checked(cls, source: Source, offset: int, name: str, arguments: Sequence[Any]) -> Condition:
        _check(source, offset, name, arguments, _CONDITIONS)
        return cls(name, tuple(arguments))

    def holds(self, own: int) -> bool:
        return bool(_CONDITIONS[self.function][1](own, *self.arguments))


def _check(source: Source, offset: int, name: str, arguments: Sequence[Any], functions: dict[str, tuple[str, Callable[..., Any]]]) -> None:
    if name not in functions:
        raise source.error(offset, f"{name!r} is no function here", construct=name, hint=f"the functions are {', '.join(functions)}")
    wanted = functions[name][0]
    kinds = "".join("n" if isinstance(a, int) else "s" if isinstance(a, tuple) else "c" for a in arguments)
    if kinds != wanted:
        names = {"n": "a number", "s": "a span of bits such as [0:3] or _", "c": "a condition"}
        raise source.error(offset, f"{name} takes {' and '.join(names[kind] for kind in wanted) or 'nothing'}", construct=name)
    bit_index = name in ("set_bit", "clear_bit", "bit_set", "bit_clear")
    for argument in arguments:
        if isinstance(argument, int) and not 0 <= argument <= (63 if bit_index else _ALL):
            raise source.error(offset, f"{argument} is no {'bit' if bit_index else '64-bit number'}", construct=name)
