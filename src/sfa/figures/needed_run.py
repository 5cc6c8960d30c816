"""A run that a figure of the paper is drawn from, and the command that trains it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NeededRun:
    """GRACE by its authors' settings for a data set, without or with SFA."""

    dataset: str
    spectral: str
    method: str = "grace"

    @property
    def name(self) -> str:
        """Of its folder: the same whichever figure asks for it, so that one run serves several."""
        return f"{self.dataset}-{self.method}-{self.spectral}"

    @property
    def recipe(self) -> str:
        return f"{self.method}/{self.dataset}"

    def command(self, folder: str) -> str:
        """What trains it below ``folder``."""
        return f"sfa train {self.dataset} --recipe {self.recipe} --spectral {self.spectral} --out {folder}/{self.name}"


def plain_and_spectral(*datasets: str) -> tuple[NeededRun, ...]:
    """Without and with SFA on each."""
    return tuple(NeededRun(dataset, spectral) for dataset in datasets for spectral in ("none", "sfa"))
