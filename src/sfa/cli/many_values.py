"""Options that take several words: ``--seeds 0 1 2``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from typer.core import TyperCommand

PAIR = "KEY=VALUE"
"""The metavar of an option whose values have an equals sign."""


class ManyValues(TyperCommand):
    """A command whose options of many values take all words up to the next option; each may also be given again.

    An option of pairs takes those words alone that are pairs: what comes behind them may be an argument.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        many = [option for option in self.params if getattr(option, "multiple", False)]
        flags = {flag for option in many for flag in option.opts}
        pairs = {flag for option in many if option.metavar == PAIR for flag in option.opts}
        return super().parse_args(ctx, list(spread(args, flags, pairs)))


def spread(words: Sequence[str], flags: Collection[str], pairs: Collection[str] = ()) -> Iterator[str]:
    """Every value with its flag before it, as click wants it.

    >>> list(spread(["x", "--seeds", "0", "1", "--quiet"], ["--seeds"]))
    ['x', '--seeds', '0', '--seeds', '1', '--quiet']
    >>> list(spread(["--set", "a=1", "b=2", "x"], ["--set"], pairs=["--set"]))
    ['--set', 'a=1', '--set', 'b=2', 'x']
    """
    flag, values = "", 0
    for word in words:
        if word in flags:
            flag, values = word, 0
        elif word.startswith("-") or (flag in pairs and values and "=" not in word):
            flag = ""
        elif flag:
            values += 1
            if values > 1:
                yield flag
        yield word
