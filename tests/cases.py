"""Many cases in one test."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

Test = Callable[..., None]


def each(
    names: str | tuple[str, ...], cases: Iterable[Any], *, ids: Iterable[Any] | Callable[[Any], Any] | None = None
) -> Callable[[Test], Test]:
    """Run a test for every case in turn, with the arguments of ``pytest.mark.parametrize``; a failure names its case.

    For many small cases, each of which says little on its own: one test in the listing instead of one for each.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    values = list(cases)
    labels = [ids(value) for value in values] if callable(ids) else list(values if ids is None else ids)

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(*args: Any, **fixtures: Any) -> None:
            for value, label in zip(values, labels, strict=True):
                try:
                    test(*args, **fixtures, **dict(zip(keys, value if len(keys) > 1 else (value,), strict=True)))
                except BaseException:
                    print(f"The case that failed: {', '.join(keys)} = {label}")  # which pytest shows with the failure
                    raise

        signature = inspect.signature(test)
        others = [parameter for name, parameter in signature.parameters.items() if name not in keys]
        run.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return run

    return decorate
