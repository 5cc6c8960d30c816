"""The published strengths of augmentation, and those that cannot be."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, get_args

import pytest

from sfa.augment import STRENGTHS, Strengths
from sfa.augment.strengths import Strength
from sfa.errors import InputError

COLOUR = ("brightness", "contrast", "saturation", "hue")


def test_every_name_has_its_strengths() -> None:
    assert set(STRENGTHS) == set(get_args(Strength))


@pytest.mark.parametrize(
    ("name", "colour", "blur", "solarise"),
    [
        ("strong", (0.8, 0.8, 0.8, 0.2), (0.5, 0.5), (0.0, 0.0)),
        ("weak", (0.4, 0.4, 0.4, 0.1), (0.5, 0.5), (0.0, 0.0)),
        ("asymmetric", (0.4, 0.4, 0.2, 0.1), (0.0, 0.0), (0.0, 0.2)),
        ("byol", (0.4, 0.4, 0.2, 0.1), (1.0, 0.1), (0.0, 0.2)),
    ],
)
def test_published_values(
    name: Strength, colour: tuple[float, ...], blur: tuple[float, float], solarise: tuple[float, float]
) -> None:
    """Of BYOL's Table 6 (``byol``) and of the YAML files of solo-learn."""
    common = {"crop": (0.08, 1.0), "flip": 0.5, "jitter": 0.8, "grey": 0.2, "sigma": (0.1, 2.0)}
    for side, strengths in enumerate(STRENGTHS[name]):
        expected = common | dict(zip(COLOUR, colour, strict=True)) | {"blur": blur[side], "solarise": solarise[side]}
        assert asdict(strengths) == expected


def test_digits_are_not_mirrored() -> None:
    assert all(strengths.flip == 0 for strengths in STRENGTHS["digits"])


def test_only_the_identity_changes_nothing() -> None:
    assert {name for name, pair in STRENGTHS.items() if any(one.changes_nothing for one in pair)} == {"identity"}
    assert all(one.changes_nothing for one in STRENGTHS["identity"])


@pytest.mark.parametrize("given", [{"flip": 0.1}, {"jitter": 0.1}, {"grey": 1.0}, {"blur": 0.1}, {"solarise": 0.1}])
def test_any_probability_changes_something(given: dict[str, float]) -> None:
    nothing: dict[str, Any] = {"crop": None, "flip": 0.0, "jitter": 0.0, "grey": 0.0, "blur": 0.0}
    assert not Strengths(**nothing | given).changes_nothing
    assert not Strengths(**nothing | {"crop": (0.5, 1.0)}).changes_nothing


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"flip": 1.1}, "flip must be a number, 0 or more and at most 1, not 1.1."),
        ({"jitter": -0.1}, "jitter must be a number, 0 or more and at most 1, not -0.1."),
        ({"grey": "0.2"}, "grey must be a number, 0 or more and at most 1, not '0.2'."),
        ({"blur": 2}, "blur must be a number, 0 or more and at most 1, not 2."),
        ({"solarise": float("nan")}, "solarise must be a number, 0 or more and at most 1, not nan."),
        ({"brightness": -0.5}, "brightness must be a number, 0 or more, not -0.5."),
        ({"contrast": float("inf")}, "contrast must be a number, 0 or more, not inf."),
        ({"saturation": None}, "saturation must be a number, 0 or more, not None."),
        ({"hue": 0.6}, "hue must be a number, 0 or more and at most 0.5, not 0.6."),
        ({"crop": (0.0, 1.0)}, "crop must be a number, above 0 and at most 1, not 0.0."),
        ({"crop": (0.5, 1.5)}, "crop must be a number, above 0 and at most 1, not 1.5."),
        ({"crop": (0.9, 0.5)}, "crop must be the least number and then the greatest, not (0.9, 0.5)."),
        ({"crop": 0.5}, "crop must be a pair of numbers, the least and the greatest, not 0.5."),
        (
            {"sigma": (0.1, 1.0, 2.0)},
            "sigma must be a pair of numbers, the least and the greatest, not (0.1, 1.0, 2.0).",
        ),
        ({"sigma": (0.0, 1.0)}, "sigma must be a number, above 0, not 0.0."),
        ({"sigma": (2.0, 1.0)}, "sigma must be the least number and then the greatest, not (2.0, 1.0)."),
    ],
)
def test_what_cannot_be_is_said(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        Strengths(**given)
    assert str(error.value) == message
