"""Names of models: aliases, and what to do with a name nobody serves."""

from __future__ import annotations

from collections.abc import Mapping

from scansion.server.errors import ApiError
from scansion.server.parameters import nearest

__all__ = ["ModelNames"]


class ModelNames:
    """Client names to backend names.

    With one model any name is that model, as llama-server has it: clients carry a default name of their own, and the
    answer's ``model`` says which one wrote it. With several, an unknown name is a 404.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = dict(names)

    @property
    def listed(self) -> list[str]:
        """Every name clients may use, in the order given."""
        return list(self._names)

    def resolve(self, name: str | None) -> str:
        """The backend's name.

        Raises:
            ApiError: 404 with the nearest known name.
        """
        if name is None or name == "":
            if not self._names:
                raise ApiError(503, "no model is known yet: try again in a moment", code="model_unknown", retry_after=1)
            return next(iter(self._names.values()))
        found = self._names.get(name) or self._names.get(name.removesuffix(":latest"))
        if found is not None:
            return found
        if len(set(self._names.values())) == 1:
            return next(iter(self._names.values()))
        near = nearest(name, self._names)
        hint = f"did you mean {near!r}?" if near else f"there are {', '.join(list(self._names)[:8])}"
        raise ApiError(404, f"there is no model {name[:100]!r}: {hint}", code="model_not_found", param="model")
