"""Scores."""

import json
import math

import numpy as np
import pytest

from sfa.errors import InputError
from sfa.evaluate import Score

VALUES = {"nmi": (40.0, 42.0, 45.0), "ari": (30.0, 30.5, 30.25)}


def test_mean_and_sample_deviation_of_the_main_metric_and_of_others() -> None:
    score = Score("some", "clustering", VALUES)
    assert score.main == "nmi"
    for metric in ("nmi", "ari"):
        assert score.mean(metric) == pytest.approx(np.mean(VALUES[metric]))
        assert score.std(metric) == pytest.approx(np.std(VALUES[metric], ddof=1))
    assert (score.mean(), score.std()) == (score.mean("nmi"), score.std("nmi"))
    assert str(score) == "42.33 ± 2.52"
    assert score.text("ari") == "30.25 ± 0.25"


def test_a_metric_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="measures nmi, ari, not 'accuracy'"):
        Score("some", "clustering", VALUES).mean("accuracy")


def test_a_single_value_has_no_spread() -> None:
    score = Score("some", "public", {"accuracy": (81.5,)})
    assert math.isnan(score.std())
    assert str(score) == "81.50"
    assert json.loads(json.dumps(score.as_dict(), allow_nan=False))["std"] is None


def test_json_and_back() -> None:
    score = Score("some", "knn", {"accuracy": (80.0, 81.0)}, chosen=(5, 10), validation={"accuracy": (79.5, 82.0)})
    written = json.loads(json.dumps(score.as_dict()))
    assert Score.from_dict(written) == score
    assert (written["mean"], written["std"]) == (80.5, pytest.approx(0.5**0.5))
    assert written["values"] == {"accuracy": [80.0, 81.0]}


def test_scores_of_before_validation_had_names_or_was_kept_are_read() -> None:
    score = Score("some", "clustering", VALUES, validation={"nmi": (1.0, 2.0, 3.0)}, splits="digest")
    written = score.as_dict()
    assert Score.from_dict({**written, "validation": [1, 2, 3]}) == score
    for before in ({**written, "validation": []}, {key: of for key, of in written.items() if key != "validation"}):
        assert Score.from_dict(before).validation == {}
        assert Score.from_dict(before).values == score.values


@pytest.mark.parametrize("damage", [{"values": {}}, {"values": {"accuracy": []}}, {"values": 3}, {"chosen": None}])
def test_what_is_no_score_is_refused(damage: dict[str, object]) -> None:
    written = Score("some", "knn", {"accuracy": (80.0,)}).as_dict()
    with pytest.raises(InputError, match="not a score"):
        Score.from_dict({**written, **damage})
