"""A run as a report shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfa.evaluate import Score
from sfa.run.run import Run


@dataclass(frozen=True)
class ReportedRun:
    """A run, what it is called, and its scores.

    Attributes:
        name: Unlike that of any other run of the report; its path, for instance.
        run: The trained run with its data.
        scores: All under one protocol, on the same splits: of what needs no training, and last its own.
        no_scores: Where there are none, a sentence that says why.
    """

    name: str
    run: Run
    scores: Sequence[Score] = ()
    no_scores: str | None = None

    @property
    def score(self) -> Score | None:
        """Its own."""
        return self.scores[-1] if self.scores else None
