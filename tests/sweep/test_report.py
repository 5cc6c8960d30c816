"""The report: fresh seeds, the test labels, once; and arms compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock, Timeout

from sfa.atomic import write_text
from sfa.errors import InputError
from sfa.sweep import Search, SearchCallback, fresh_seeds, make_report
from sfa.sweep.search import recipe_of
from sfa.sweep.trials import Record, best_of_each

MakeSearch = Callable[..., Search]


def interrupt(trial: Any, number: int) -> float:
    raise KeyboardInterrupt


@pytest.mark.slow
def test_the_winner_is_trained_with_fresh_seeds(search: MakeSearch) -> None:
    made = search()
    (best,) = best_of_each(made.run(trials=3, device="cpu")).values()
    report = make_report(made, device="cpu")
    assert report.winners == {"": best}
    assert report.seeds == (1, 2, 3)
    assert report.protocols == ("honest-10-10-80", "honest-10-10-80 unseen")
    written = json.loads((made.folder / "report.json").read_text())
    assert [run["seed"] for run in written["runs"]] == [1, 2, 3]
    for run in written["runs"]:
        named, unseen = (run["scores"][protocol] for protocol in report.protocols)
        assert len(named) == len(unseen) == 20
        assert named != unseen
    means = [sum(run["scores"]["honest-10-10-80"]) / 20 for run in written["runs"]]
    assert report.table["honest-10-10-80", ""].mean == pytest.approx(sum(means) / 3)
    assert written["chosen"][""]["trial"] == best.number
    assert written["results"][0]["mean"] == pytest.approx(sum(means) / 3)

    with pytest.raises(InputError, match="has been reported on"):
        made.run(trials=4, device="cpu")
    assert make_report(made, seeds=[1, 5], device="cpu").seeds == (1, 5), "more seeds, the same choice"


@pytest.mark.usefixtures("no_training")
def test_it_is_reported_once(search: MakeSearch) -> None:
    made = search()
    made.run(trials=2, device="cpu")
    make_report(made, seeds=[7], device="cpu")
    path = made.folder / "report.json"
    known = json.loads(path.read_text())
    path.write_text(json.dumps({"chosen": {"": {**known["chosen"][""], "trial": 99}}}))
    with pytest.raises(InputError, match="another choice"):
        make_report(made, seeds=[7], device="cpu")
    path.write_text("{")
    with pytest.raises(InputError, match="is damaged"):
        make_report(made, seeds=[7], device="cpu")


@pytest.mark.usefixtures("no_training")
def test_a_report_between_two_trials_ends_the_search(search: MakeSearch) -> None:
    made = search()

    class Hasty(SearchCallback):
        def on_trial_end(self, record: Record, best: Record | None) -> None:
            if record.number == 1:
                make_report(made, seeds=[7], device="cpu")

    with pytest.raises(InputError, match="has been reported on"):
        made.run(trials=4, device="cpu", callback=Hasty())
    records = made.run(trials=2, device="cpu")
    assert [record.number for record in records] == [0, 1], "no third was taken up"
    assert made.unfinished(records, 2) == 0
    assert made.unfinished(records, 4) == 2


@pytest.mark.usefixtures("no_training")
def test_no_trial_is_taken_up_while_the_choice_is_noted(search: MakeSearch, monkeypatch: pytest.MonkeyPatch) -> None:
    made = search()
    made.run(trials=1, device="cpu")
    held: list[bool] = []

    def noted(path: Path, text: str) -> None:
        try:
            with FileLock(made.folder / ".claim.lock", timeout=0):
                held.append(False)
        except Timeout:
            held.append(True)
        write_text(path, text)

    monkeypatch.setattr("sfa.sweep.report.write_text", noted)
    make_report(made, seeds=[7], device="cpu")
    assert held == [True, False, False], "the choice, a run, and what came of all"


@pytest.mark.usefixtures("no_training")
def test_a_trial_left_behind_is_not_gone_on_with_after_the_report(search: MakeSearch) -> None:
    made = search()
    made.run(trials=1, device="cpu")
    with made.trials() as trials, pytest.raises(KeyboardInterrupt):
        trials.run_next("", 2, interrupt)
    make_report(made, seeds=[7], device="cpu")
    with pytest.raises(InputError, match="has been reported on"):
        made.run(trials=2, device="cpu")


def test_seeds_of_the_search_are_not_fresh(search: MakeSearch) -> None:
    made = search(seeds=(1, 0))
    assert fresh_seeds(made) == (2, 3, 4)
    assert fresh_seeds(made, [9, 9, 8]) == (9, 8)
    with pytest.raises(InputError, match="instance --report-seeds 2 3"):
        fresh_seeds(made, [1, 2])


@pytest.mark.slow
@pytest.mark.usefixtures("no_training")
def test_arms_are_searched_alike_and_compared(search: MakeSearch) -> None:
    made = search(ranges=("method.tau=0.2..1", "spectral.iterations=1..3"), ablate="spectral=none,sfa")
    assert list(made.arms) == ["spectral.name=none", "spectral.name=sfa"]
    assert len(made.run(trials=2, timeout=0.0, device="cpu")) == 0
    records = made.run(trials=2, device="cpu")
    assert [f"{record.arm[14:]} {record.number}" for record in records] == ["none 0", "none 1", "sfa 0", "sfa 1"]
    assert all(("spectral.iterations" in record.params) == record.arm.endswith("sfa") for record in records)
    for record in records:
        assert recipe_of(made.arms[record.arm], record).spectral["name"] == record.arm[14:]
    assert {path.name for path in made.folder.glob("best*")} == {"best.yaml", "best-none.yaml", "best-sfa.yaml"}
    report = make_report(made, seeds=[1, 2], device="cpu")
    first, second = (report.table["honest-10-10-80", arm] for arm in made.arms)
    assert first.difference is None
    assert first.mean is not None
    assert second.mean is not None
    assert second.difference is not None
    assert second.difference.mean == pytest.approx(second.mean - first.mean)
    assert (first.seeds, second.seeds) == (2, 2)
    with pytest.raises(InputError, match="compared by --ablate"):
        search(ablate="spectral=none,sfa")
    with pytest.raises(InputError, match="Unknown recipe key"):
        search(ranges=("spectral.iterations=1..3",), ablate="spectral=none,pca")


def test_nothing_to_report_on(search: MakeSearch) -> None:
    made = search()
    made.settings.save(made.folder)
    with pytest.raises(InputError, match="nothing to report on"):
        make_report(made, seeds=[1], device="cpu")

    def report(trial: Any, number: int) -> float:
        with pytest.raises(InputError, match="still at trial 0"):
            make_report(made, seeds=[1], device="cpu")
        return 50.0

    with made.trials() as trials:
        trials.run_next("", 1, report)
    assert not (made.folder / "report.json").exists()


def test_of_equal_trials_the_first_is_chosen() -> None:
    record = Record("", 0, "done", 80.0, {}, (80.0,), 1.0, None)
    several = [replace(record, number=2), replace(record, number=1), replace(record, number=0, value=79.0)]
    several.append(replace(record, number=3, state="running", value=None))
    assert best_of_each(several)[""].number == 1


def test_no_search_here(tmp_path: Path) -> None:
    from sfa.sweep import Settings

    with pytest.raises(InputError, match="no search in"):
        Settings.read(tmp_path)
