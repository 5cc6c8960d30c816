"""Tables as people write them: categories, dates, truth values and empty cells become numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sfa import NodeEmbedder
from sfa.data import as_graph, load
from sfa.data.encode import encode_frame
from sfa.errors import InputError

NAMES = [f"n{i}" for i in range(24)]
PEOPLE = pd.DataFrame(
    {
        "age": [20.0 + i for i in range(24)],
        "city": ["Rome", "Oslo", "Rome", None] * 6,
        "joined": ["1970-01-02", "1970-01-03T12:00", "1970-02-01"] * 8,
        "member": ["yes", "No"] * 12,
        "email": [f"{name}@example.org" for name in NAMES],
    },
    index=NAMES,
)
PEOPLE.loc["n2", "age"] = None
EDGES = np.array([range(23), range(1, 24)])


def test_each_kind_of_column_by_hand() -> None:
    values, learned, said = encode_frame(PEOPLE)
    age = PEOPLE["age"].fillna(PEOPLE["age"].mean())
    columns = [
        age,
        [name == "n2" for name in NAMES],
        PEOPLE["city"] == "Rome",  # the most frequent first
        PEOPLE["city"] == "Oslo",
        [1, 2.5, 31] * 8,
        [1, 0] * 12,
    ]
    np.testing.assert_array_equal(values, np.stack([np.asarray(column, dtype=float) for column in columns], axis=1))
    assert all(words in said for words in ("1 missing in 'age'", "2 categories", "days", "'email' left out (24 diff"))
    again, same, _ = encode_frame(PEOPLE, learned)
    np.testing.assert_array_equal(again, values)
    assert same == learned


def test_new_data_are_encoded_as_was_learned() -> None:
    _, learned, _ = encode_frame(PEOPLE)
    new = pd.DataFrame(
        {"city": ["Oslo", "Bern"], "age": [None, 7], "member": [True, False], "joined": ["1970-01-11"] * 2}
    )
    values, _, said = encode_frame(new, learned)
    mean = PEOPLE["age"].mean()
    np.testing.assert_array_equal(values, [[mean, 1, 0, 1, 10, 1], [7, 0, 0, 0, 10, 0]])
    assert "'Bern'" in said
    with pytest.raises(InputError, match="no column 'joined'"):
        encode_frame(new.drop(columns="joined"), learned)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["31/12/2020", "01/01/2021"], [[18627], [18628]]),
        (pd.to_datetime(["1970-01-02", "1970-01-03"]), [[1], [2]]),
        ([True, False], [[1], [0]]),
        (pd.array([3, None], dtype="Int64"), [[3, 0], [3, 1]]),
        (pd.Categorical(["a", "b"]), [[1, 0], [0, 1]]),
        (["may", "june"], [[0, 1], [1, 0]]),
    ],
    ids=str,
)
def test_other_columns(cells: Any, expected: Any) -> None:
    np.testing.assert_array_equal(encode_frame(pd.DataFrame({"x": cells}))[0], expected)


def test_numbers_stay_what_they_are_and_names_may_repeat() -> None:
    frame = pd.DataFrame([[1, 2.5], [3, 4]], columns=["x", "x"])
    values, learned, said = encode_frame(frame)
    assert (values.tolist(), said) == ([[1, 2.5], [3, 4]], "")
    assert learned == {"x": {"mean": 2}, "x.1": {"mean": 3.25}}
    with pytest.raises(InputError, match="no column that can be features"):
        encode_frame(PEOPLE[["email"]])


def test_many_categories_are_bounded() -> None:
    frame = pd.DataFrame({"city": [f"c{i % 150:03}" for i in range(600)]})
    values, learned, _ = encode_frame(frame)
    assert (values.shape, values.sum()) == ((600, 100), 400)
    assert learned is not None
    assert learned["city"]["categories"][:2] == ["c000", "c001"]


def test_an_embedder_encodes_frames_as_it_learned(tmp_path: Path) -> None:
    embedder = NodeEmbedder("propagate", hidden=4).fit((PEOPLE, EDGES))
    shuffled = PEOPLE[PEOPLE.columns[::-1]]
    np.testing.assert_array_equal(embedder.transform((shuffled, EDGES)), embedder.embedding_)
    embedder.save(tmp_path / "e.safetensors")
    loaded = NodeEmbedder.load(tmp_path / "e.safetensors")
    np.testing.assert_array_equal(loaded.transform((shuffled, EDGES)), embedder.embedding_)
    with pytest.raises(InputError, match="no column 'city'"):
        loaded.transform((PEOPLE.drop(columns="city"), EDGES))
    with pytest.raises(InputError, match="column 'city'"):
        as_graph((PEOPLE, EDGES), encode="none")


def test_a_run_keeps_what_it_learned(tmp_path: Path, run_sfa: Callable[..., Any]) -> None:
    edges, nodes, new = (tmp_path / name for name in ("e.csv", "nodes.csv", "new.csv"))
    pd.DataFrame({"source": NAMES[:-1], "target": NAMES[1:]}).to_csv(edges, index=False)
    PEOPLE.to_csv(nodes)
    later = PEOPLE[PEOPLE.columns[::-1]].copy()
    later.loc["n1", "city"] = "Bern"
    later.to_csv(new)
    trained = run_sfa("train", edges, features=nodes, method="propagate", out=tmp_path / "run")
    assert (trained.code, "'city' as 2 categories" in trained.err) == (0, True)
    found = run_sfa("embed", tmp_path / "run", data=edges, features=new, out=tmp_path / "z.csv")
    assert (found.code, "of no category ('Bern'" in found.err) == (0, True), found.err
    later.drop(columns="age").to_csv(new)
    refused = run_sfa("embed", tmp_path / "run", data=edges, features=new, out=tmp_path / "z2.csv")
    assert (refused.code, "no column 'age'" in refused.err) == (2, True)
    assert load(edges, features=nodes).num_features == 6
