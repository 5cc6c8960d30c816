"""What every fuzzed call must end in: success, or one sentence and nothing touched on disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings

from sfa.errors import InputError, sentence_of


def examples(n: int) -> settings:
    """Settings of a test of so many examples, or as many times more as ``SFA_FUZZ_EXAMPLES`` says."""
    return settings(
        max_examples=n * int(os.environ.get("SFA_FUZZ_EXAMPLES", "1")),
        deadline=None,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.function_scoped_fixture,
            HealthCheck.data_too_large,
        ],
    )


fuzz = examples(25)


def outcome(action: Callable[[], Any]) -> str | None:
    """Run something, and return the sentence that it was refused with, or ``None``; other errors are failures."""
    try:
        action()
    except InputError as error:
        sentence = sentence_of(error)
        assert sentence == " ".join(sentence.splitlines()), f"more than one line: {sentence!r}"
        assert 10 < len(sentence) < 2010, sentence
        return sentence
    return None


def contents(folder: Path) -> dict[str, bytes | None]:
    """Return all that is below a folder, files with their bytes."""
    files = sorted(folder.rglob("*"))
    return {str(file.relative_to(folder)): file.read_bytes() if file.is_file() else None for file in files}
