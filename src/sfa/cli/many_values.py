"""Options that take several words: ``--seeds 0 1 2``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from typer.core import TyperCommand


class ManyValues(TyperCommand):
    """A command whose options of many values take all words up to the next option; each may also be given again."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        flags = {flag for option in self.params if getattr(option, "multiple", False) for flag in option.opts}
        return super().parse_args(ctx, list(spread(args, flags)))


def spread(words: Sequence[str], flags: Collection[str]) -> Iterator[str]:
    """Every value with its flag before it, as click wants it.

    >>> list(spread(["x", "--seeds", "0", "1", "--quiet"], ["--seeds"]))
    ['x', '--seeds', '0', '--seeds', '1', '--quiet']
    """
    flag, values = "", 0
    for word in words:
        if word in flags:
            flag, values = word, 0
        elif word.startswith("-"):
            flag = ""
        elif flag:
            values += 1
            if values > 1:
                yield flag
        yield word
