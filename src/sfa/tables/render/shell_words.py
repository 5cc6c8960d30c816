"""A command in words, quotes and all."""

from __future__ import annotations

import re

_WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*"|['"])+""")


def shell_words(command: str) -> list[str]:
    """The words between which a line may be broken.

    >>> shell_words("sfa train './my graph.npz' --seed 0")
    ['sfa', 'train', "'./my graph.npz'", '--seed', '0']
    """
    return _WORD.findall(command)
