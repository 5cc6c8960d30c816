"""Molecules: SMILES in tables, in `.smi` files and in memory, their atoms and bonds, and what is no molecule."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sfa.data import as_graphs, from_smiles, load
from sfa.data.readers.molecules import ELEMENTS
from sfa.errors import InputError

SMILES = ["CCO", "c1ccccc1C", "[NH4+]", "C1CC1", "Cc1ccccc1O", "[U]"]
LOGS = [-0.3, 1.5, -1.0, 0.25, 2.0, 3.5]


def test_atoms_and_bonds_of_ethanol() -> None:
    ethanol = from_smiles(["CCO"])
    assert ethanol.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    start = len(ELEMENTS) + 1
    kinds, neighbors, hydrogens, rest = np.split(ethanol.x.numpy(), [start, start + 6, start + 11], axis=1)
    assert [(*ELEMENTS, "other")[row.argmax()] for row in kinds] == ["C", "C", "O"]
    assert (neighbors.argmax(1).tolist(), hydrogens.argmax(1).tolist()) == ([1, 2, 1], [3, 2, 1])
    assert (rest == 0).all()


def test_charge_rings_rare_elements_and_single_atoms() -> None:
    data = from_smiles(SMILES, y=LOGS, ids=list("abcdef"))
    assert data.ptr.diff().tolist() == [3, 7, 1, 3, 8, 1]
    assert data.x[data.ptr[2], -3:].tolist() == [1, 0, 0]
    assert data.x[data.ptr[3], -3:].tolist() == [0, 0, 1]
    assert data.x[data.ptr[1], -3:].tolist() == [0, 1, 1]
    assert data.x[data.ptr[5], len(ELEMENTS)] == 1
    assert (data.graph_ids, data.y.tolist()) == (list("abcdef"), LOGS)


def test_molecules_share_a_scaffold_with_their_rings_and_keep_it_in_memory() -> None:
    scaffold = from_smiles(SMILES).scaffold.tolist()
    assert scaffold[1] == scaffold[4] != scaffold[3]
    assert scaffold[0] == scaffold[2] == scaffold[5]
    assert as_graphs(from_smiles(SMILES)).scaffold.tolist() == scaffold


def test_a_table_has_smiles_labels_and_ids(tmp_path: Path) -> None:
    frame = pd.DataFrame({"name": list("abcdef"), "SMILES": SMILES, "logS": LOGS})
    frame.to_csv(tmp_path / "one.csv")  # with the index that pandas writes
    data = load(tmp_path / "one.csv", target="logS")
    assert (data.graph_ids, data.y.tolist(), data.name) == (list("abcdef"), LOGS, "one")
    frame[["SMILES", "logS"]].to_csv(tmp_path / "two.tsv", index=False, sep="\t")
    assert load(tmp_path / "two.tsv").y.tolist() == LOGS, "the only other column"
    frame.assign(mass=1.0).to_csv(tmp_path / "three.csv", index=False)
    several = load(tmp_path / "three.csv")
    assert several.get("y") is None
    assert "--target" in several.edges_note
    frame.assign(label=["x", "y"] * 3).to_csv(tmp_path / "four.csv", index=False)
    assert load(tmp_path / "four.csv").class_names == ["x", "y"]


def test_a_smi_file_has_names_or_none_and_labels_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "m.smi").write_text("".join(f"{one} m{i}\n" for i, one in enumerate(SMILES)))
    (tmp_path / "labels.csv").write_text("id,label\nm1,0.5\nm4,-1\n")
    data = load(tmp_path / "m.smi", labels=tmp_path / "labels.csv")
    assert data.graph_ids == [f"m{i}" for i in range(6)]
    np.testing.assert_array_equal(data.y, [np.nan, 0.5, np.nan, np.nan, -1, np.nan])
    (tmp_path / "bare.smi").write_text("\n".join(SMILES) + "\n")
    assert load(tmp_path / "bare.smi").graph_ids == list(range(6))


def test_all_bad_smiles_are_listed_by_their_rows(tmp_path: Path) -> None:
    pd.DataFrame({"smiles": ["CCO", "C1CC", "", "xyz"], "y": LOGS[:4]}).to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(InputError, match="3 of 4 SMILES are no molecules: row 3 'C1CC', row 4 '', row 5 'xyz';"):
        load(tmp_path / "bad.csv")
    with pytest.raises(InputError, match="row 1 nan"):
        from_smiles(["C", float("nan")])  # type: ignore[list-item]
    with pytest.raises(InputError, match="row 9 'Q' and 5 more"):
        from_smiles(["Q"] * 15)


def test_options_that_do_not_fit_are_named(tmp_path: Path) -> None:
    pd.DataFrame({"smiles": SMILES, "logS": LOGS}).to_csv(tmp_path / "m.csv", index=False)
    for options, words in (
        ({"target": "logP"}, "no column 'logP'; its first row is 'smiles', 'logS'"),
        ({"weight": "logS"}, "leave out --weight"),
        ({"node_features": "degree"}, "leave out --node-features"),
        ({"labels": tmp_path / "m.csv"}, "given twice"),
    ):
        with pytest.raises(InputError, match=words):
            load(tmp_path / "m.csv", **options)


def test_without_rdkit_one_sentence_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    (tmp_path / "m.smi").write_text("CCO\n")
    with pytest.raises(InputError, match=r"pip install 'sfa\[molecules\]'"):
        load(tmp_path / "m.smi")
