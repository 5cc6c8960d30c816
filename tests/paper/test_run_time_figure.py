"""Run times in the ledger become the paper's figure of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfa.errors import InputError
from sfa.evaluate import Score
from sfa.paper.figures.run_time import draw_run_time, tell_of_run_time, timings
from sfa.paper.results_files import Entry


def entry(
    k: int | None,
    seconds: tuple[float, ...],
    *,
    dataset: str = "cora",
    job: str = "a",
    spectral: str = "sfa",
    **more: Any,
) -> Entry:
    own = {"name": "none"} if k is None else {"name": spectral, "iterations": k}
    fields: dict[str, Any] = {
        "key": f"{dataset}{job}{k}", "kind": "timed", "dataset": dataset, "method": "grace", "spectral": own["name"],
        "recipe": {"spectral": own, "beside": [job]}, "recipe_hash": "", "fingerprint": dataset, "seed": 0,
        "versions": {}, "device": "cpu", "threads": 1, "created": "2026-01-01",
        "scores": (Score("epochs", "run-time", {"seconds per epoch": seconds}),),
    }  # fmt: skip
    return Entry(**(fields | more))


CORA = [
    entry(2, (1.2, 2.6, 4.2)),
    entry(None, (1.0, 2.0, 4.0)),
    entry(1, (1.1, 2.2, 4.4)),
]


def test_a_job_is_read_by_its_iterations() -> None:
    (timing,) = timings(CORA)
    assert (timing.setting.dataset, timing.setting.method, timing.without) == ("cora", "grace", (1.0, 2.0, 4.0))
    assert list(timing.by_iterations) == [1, 2]
    assert timing.ratio(1).mean == pytest.approx(1.1), "turn by turn"
    assert timing.ratio(2).mean == pytest.approx(np.mean([1.2, 1.3, 1.05]))
    assert timing.ratio(2).low < timing.ratio(2).mean < timing.ratio(2).high


def test_times_of_another_machine_or_of_other_recipes_are_not_mixed_in() -> None:
    apart = [
        entry(4, (9.0, 9.0, 9.0), job="b"),
        entry(8, (9.0, 9.0, 9.0), threads=2),
        entry(8, (9.0, 9.0, 9.0), seed=1),
    ]
    (timing,) = timings([*CORA, *apart])
    assert list(timing.by_iterations) == [1, 2]


def test_the_job_with_most_iterations_counts_and_of_those_the_last() -> None:
    fewer = [entry(None, (1.0, 1.0), job="b", created="2027"), entry(1, (5.0, 5.0), job="b", created="2027")]
    (timing,) = timings([*CORA, *fewer])
    assert list(timing.by_iterations) == [1, 2]
    later = [entry(k, (3.0, 3.0), job="c", created="2027") for k in (None, 1, 2)]
    for entries in ([*CORA, *later], [*later, *CORA]):
        (timing,) = timings(entries)
        assert timing.without == (3.0, 3.0)


def test_what_says_nothing_is_passed_over() -> None:
    nothing = [
        entry(1, (1.0, 1.0), dataset="lonely"),
        entry(None, (1.0, 1.0), dataset="plain"),
        entry(None, (1.0, 1.0), dataset="maps"),
        entry(1, (1.0, 1.0), dataset="maps", spectral="maxexp"),
        entry(None, (1.0, 1.0), dataset="scored", kind="trained"),
        entry(1, (1.0, 1.0), dataset="scored", kind="trained"),
        entry(None, (), dataset="failed", failure="no"),
        entry(1, (1.0, 1.0), dataset="failed"),
    ]
    assert timings(nothing) == []
    with pytest.raises(InputError, match="figure 4 --run"):
        draw_run_time(nothing, {})


def test_the_picture() -> None:
    other = [entry(None, (2.0, 2.0), dataset="mine"), entry(8, (3.0, 3.5), dataset="mine")]
    left, right = draw_run_time([*CORA, *other], {"cora": 172 / 165, "wikics": 1.007}).axes
    assert [text.get_text() for text in left.get_xticklabels()] == ["no SFA", "$k = 1$", "$k = 2$", "$k = 8$"]
    x, seconds = left.lines[0].get_data()
    assert list(x) == [0, 1, 2]
    assert list(seconds) == pytest.approx([7 / 3, 7.7 / 3, 8 / 3])
    assert list(left.lines[1].get_xdata()) == [0, 3]
    published = [line for line in right.lines if line.get_marker() == "D" and len(line.get_xdata())]
    assert [list(line.get_ydata()) for line in published] == [[172 / 165]], "of data sets that were measured"
    means = [float(bar.lines[0].get_ydata()[0]) for bar in right.containers if len(bar.lines[0].get_ydata())]
    assert means == pytest.approx([1.1, np.mean([1.2, 1.3, 1.05]), 1.625])


def test_the_finding() -> None:
    told = tell_of_run_time(CORA, {"cora": 172 / 165})
    assert "× 1.100 [1.100, 1.100] for k = 1, × 1.183" in told
    assert told.endswith("for k = 2 (published × 1.042).")
