"""Read molecules: SMILES, which RDKit parses, as graphs of atoms and bonds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from sfa.data.downloads import explain_damage
from sfa.data.raw import build, join_graphs
from sfa.data.readers.tables import ID_NAMES, LABEL_NAMES, TextTable, parse_ids, parse_labels, read_labels
from sfa.errors import InputError

ELEMENTS = ("C", "N", "O", "F", "P", "S", "Cl", "Br", "I", "B", "Si", "Se")  # all others share a column
MOST_NEIGHBORS, MOST_HYDROGENS = 5, 4  # more count as so many
LISTED = 10  # SMILES that an error names at most
NAMES = ("smiles", "canonical_smiles", "isomeric_smiles", "canonicalsmiles", "isomericsmiles")  # of columns


def from_smiles(
    smiles: Sequence[str], *, y: Any = None, ids: Sequence[Any] | None = None, name: str = "molecules", line: int = 0
) -> Data:
    """Return a set of molecules, each a graph of its atoms but hydrogens, joined by its bonds; see `build_graphs`.

    Features of an atom are its element, its number of neighbors and of hydrogens, one-hot, its charge, and whether it
    is aromatic and in a ring. `scaffold` [G] numbers the Bemis-Murcko scaffolds; molecules without rings share one.
    `y` has a class or a real number for each, `ids` their names. `line` numbers the first row in errors.
    RDKit is needed: `pip install 'sfa[molecules]'`.
    """
    try:
        from rdkit import Chem
        from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles
        from rdkit.rdBase import BlockLogs
    except ImportError:
        raise InputError("Molecules are read by RDKit, which is not here: pip install 'sfa[molecules]'.") from None
    smiles = [smiles] if isinstance(smiles, str) else list(smiles)
    with BlockLogs():
        molecules = [Chem.MolFromSmiles(str(one)) for one in smiles]
        bad = [i for i, one in enumerate(molecules) if one is None or one.GetNumAtoms() == 0]
        if bad:
            found = ", ".join(f"row {line + i} {smiles[i]!r}" for i in bad[:LISTED])
            more = f" and {len(bad) - LISTED} more" if len(bad) > LISTED else ""
            raise InputError(f"{len(bad)} of {len(smiles)} SMILES are no molecules: {found}{more}; correct them.")
        scaffolds = [MurckoScaffoldSmiles(mol=one) for one in molecules]  # type: ignore[no-untyped-call]
        raw = join_graphs([_graph(one) for one in molecules], ids)
    raw.y = y
    data = build(raw, name=name)
    data.scaffold = torch.from_numpy(np.unique(scaffolds, return_inverse=True)[1])
    return data


def find_smiles(path: Path) -> bool:
    """Tell whether a file is a table of molecules: by its suffix, or because of a column's name."""
    if path.suffix.lower() not in (".csv", ".tsv", ".txt"):
        return path.suffix.lower() == ".smi"
    with explain_damage(path):
        return any(cell.lower() in NAMES for cell in TextTable(path).first_row)


def read_molecules(path: Path, labels: Path | None, given: Mapping[str, Any]) -> Data:
    """Read a table with a column of SMILES, or a `.smi` of SMILES and names.

    Labels are in the column `target` that is given, in one called like labels, or in the only one that is left.
    """
    wrong = [f"--{key}" for key, value in given.items() if value is not None and key != "target"]
    if wrong:
        raise InputError(f"{path} holds molecules, whose atoms have features, so leave out {', '.join(wrong)}.")
    with explain_damage(path):
        table = TextTable(path)
        frame = table.read_text()
    lower = [cell.lower() for cell in table.first_row]
    found = [lower.index(name) for name in NAMES if name in lower]
    without = (0, ["smiles", "name"][: len(lower)], frame)  # a header
    place, names, rows = (found[0], table.first_row, frame[1:]) if found else without
    others = [i for i in range(len(names)) if i != place]
    named = [i for i in others if names[i].lower() in ID_NAMES and rows[i].is_unique]
    own = max(named, key=names.__getitem__, default=None)  # rather than a column without name
    left = [i for i in others if i != own]
    asked = given.get("target")
    if asked is not None and asked not in names:
        raise InputError(f"{path} has no column {asked!r}; its first row is {', '.join(map(repr, names))}.")
    usual = [i for i in left if names[i].lower() in (*LABEL_NAMES, "target")] or (left if len(left) == 1 else [])
    target = names.index(asked) if asked is not None else next(iter(usual), None)
    if target is not None and labels is not None:
        raise InputError(f"Labels are given twice: leave out labels= (--labels), or the column {names[target]!r}.")
    ids: Sequence[Any] = range(len(rows)) if own is None else parse_ids(rows[own])
    y: Any = None if target is None else np.array(parse_labels(rows[target].tolist()), dtype=object)
    y = read_labels(labels, ids, "graph") if labels is not None else y
    first = table.skip + 1 + int(rows.index[0]) if len(rows) else 0
    data = from_smiles(rows[place].tolist(), y=y, ids=ids, name=path.stem, line=first)
    ignored = ", ".join(names[i] or "a column without name" for i in left if i != target)
    read = "" if target is None else f", labels from {names[target]!r}"
    data.edges_read = f"SMILES from {names[place]!r}{read}{ignored and f' (ignored: {ignored})'}"
    if ignored and target is None and labels is None:
        data.edges_note = "--target (target=) names the column of labels, if there is one."
    return data


def _graph(molecule: Any) -> Data:
    """Return the raw graph of a molecule of RDKit."""
    x = np.zeros((molecule.GetNumAtoms(), len(ELEMENTS) + 1 + MOST_NEIGHBORS + 1 + MOST_HYDROGENS + 1 + 3), np.float32)
    for row, atom in zip(x, molecule.GetAtoms(), strict=True):
        symbol, start = atom.GetSymbol(), len(ELEMENTS) + 1
        row[ELEMENTS.index(symbol) if symbol in ELEMENTS else start - 1] = 1
        row[start + min(atom.GetDegree(), MOST_NEIGHBORS)] = 1
        row[start + MOST_NEIGHBORS + 1 + min(atom.GetTotalNumHs(), MOST_HYDROGENS)] = 1
        row[-3:] = atom.GetFormalCharge(), atom.GetIsAromatic(), atom.IsInRing()
    bonds = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]
    return Data(x=x, edge_index=np.array(bonds, dtype=np.int64).reshape(-1, 2).T)
