"""README and the summary of "What we found" quote what the results that ship contain, or name what measures it.

Every decimal number of these sections is either filled into a text below from the stored results, or is matched by a
pattern that belongs to a command on the same page.
"""

import re
from pathlib import Path

import pytest

from sfa.evaluate import Score, paired_difference, pool_seeds
from sfa.paper.plans import Variant
from sfa.paper.tables.definition import load
from sfa.paper.tables.make import make_table, shipped_entries
from sfa.run import Recipe, load_recipe
from sfa.run.identity import recipe_hash
from tests.paper.test_what_we_found import DATASETS, METHODS, tuned

ROOT = Path(__file__).parents[2]
SECTIONS = {  # the text between two headings
    "README.md": ("## What to expect", "## More"),
    "docs/what_we_found.md": ("# What we found", "## How it was measured"),
}
NUMBER = r"[-+]?\d+\.\d+"
FIVE = rf"(?: \| {NUMBER}){{5}} \|"
IN_WORDS = rf"{NUMBER}(?:,? (?:and\s+)?{NUMBER}){{4}}"
BENCHMARK = "python benchmarks/embeddings.py --data-root DIR --datasets cora citeseer pubmed computers photo"
DEMO = "sfa train cora --recipe demo/without-augmentation --set method.precision=full --seed 0"
NOT_STORED = {  # patterns of numbers that no stored result has, and the command that measures them
    "README.md": {
        rf"\| (?:propagated|GRACE|propagate,|neighbor).* \| {NUMBER} ± {NUMBER} \|": "make demo",
        r"on another processor the last digits differ \(up to 0\.2\)": "make demo",
        rf"from {NUMBER}, {NUMBER} and {NUMBER} to {NUMBER}, {NUMBER} and\s+{NUMBER}": DEMO,
        r"\(81\.5 with seed 0": "sfa train cora --recipe demo/with-augmentation --spectral sfa",
        rf"\| (?:propagated features|`propagate`, nothing trained|neighbor contrast, the default){FIVE}": BENCHMARK,
        rf"propagated features have {IN_WORDS}, and the default {IN_WORDS}": BENCHMARK,
    },
    "docs/what_we_found.md": {
        rf"\| propagated features{FIVE}": BENCHMARK,
        rf"on all five sets \({IN_WORDS}\)": BENCHMARK,
        r"`strength=0\.125, passes=64`": "spectral.strength=0.125",  # a setting
    },
}


def pooled(kind: str, recipe: Recipe, dataset: str, protocol: str, seeds: list[int]) -> Score:
    """Return the score of what was not trained, with the values of these seeds."""
    wanted = recipe_hash(Variant("", recipe, kind=kind).decisive)
    found = {
        entry.seed: score
        for entry in shipped_entries()
        if (entry.kind, entry.recipe_hash, entry.dataset) == (kind, wanted, dataset.lower()) and entry.seed in seeds
        for score in entry.scores
        if score.protocol == protocol
    }
    assert sorted(found) == seeds
    return pool_seeds(found, "accuracy")


def raw(dataset: str) -> Score:
    return pooled("raw features", Recipe.parse({"method": "grace"}), dataset, "honest-10-10-80", [0])


def untrained(dataset: str) -> Score:
    return pooled("untrained encoder", Recipe.parse({"method": "grace"}), dataset, "honest-10-10-80", [0])


def mean_and_std(score: Score) -> str:
    return f"{score.mean():.2f} ± {score.std():.2f}"


def row(name: str, values: list[float]) -> str:
    return f"| {name} | {' | '.join(f'{value:.1f}' for value in values)} |"


def short(score: Score, baseline: Score) -> str:
    found = paired_difference(score, baseline)
    mean = f"{found.mean:+.1f}"
    return f"{'0.0' if mean in ('+0.0', '-0.0') else mean} [{found.low:+.1f}, {found.high:+.1f}]"


def loss_of(dataset: str) -> str:
    """Return the points that Algorithm 1 costs GRACE, of table 1."""
    table = make_table(1)
    place = table.columns.index(dataset)
    (line,) = (one for one in table.rows if one.key == "sfa-infonce")
    measured = line.cells[place].measured
    assert measured is not None
    assert measured.difference is not None
    assert measured.seeds == (0, 1, 2)
    return f"{-measured.difference.mean:.1f}"


def quoted_in_readme() -> list[str]:
    wide = pooled("untrained encoder", load_recipe("paper", "cora"), "Cora", "honest-10-10-80", [0])
    return [
        f"| raw features | {mean_and_std(raw('Cora'))} |",
        f"| untrained encoder | {mean_and_std(wide)} |",
        row("raw features", [raw(dataset).mean() for dataset in DATASETS]),
        row("untrained encoder", [untrained(dataset).mean() for dataset in DATASETS]),
    ]


def quoted_in_summary() -> list[str]:
    titles = {"PubMed": "PubMed", "Computers": "Am-Comput.", "Photo": "Am-Photo"}
    table = load(1)
    (line,) = (one for one in table.rows if one.key == "sfa-infonce")
    printed = [line.cells[table.columns.index(titles.get(dataset, dataset))].published or "" for dataset in DATASETS]
    quoted = [
        f"it costs GRACE {loss_of('Cora')} points on Cora and {loss_of('CiteSeer')} on CiteSeer",
        row("raw features", [raw(dataset).mean() for dataset in DATASETS]),
        row("the paper, with SFA", [float(text.split()[0]) for text in printed]),
    ]
    for loss, method in METHODS.items():
        pairs = [tuned(dataset, loss, "honest-10-10-80") for dataset in DATASETS]
        name = {"grace": "GRACE", "g-bt": "G-BT"}[method]
        quoted += [
            row(f"{name}, tuned {words} SFA", [pair[place].mean() for pair in pairs])
            for place, words in enumerate(("without", "with"))
        ]
        quoted.append(f"| difference | {' | '.join(short(other, one) for one, other in pairs)} |")
    return quoted


QUOTED = {"README.md": quoted_in_readme, "docs/what_we_found.md": quoted_in_summary}


@pytest.mark.parametrize("page", SECTIONS)
def test_every_number_is_stored_or_has_its_command(page: str) -> None:
    whole = (ROOT / page).read_text(encoding="utf-8")
    start, end = SECTIONS[page]
    text = whole.replace("**", "").partition(start)[2].partition(f"\n{end}")[0]
    parts = re.split(r"\n(?=\||\d\.|\n)", text)  # paragraphs, items and rows, each on one line
    text = "\n".join(" ".join(part.split()) for part in parts)
    for quoted in QUOTED[page]():
        assert quoted in text, f"{page} does not quote the stored results: {quoted}"
        text = text.replace(quoted, "")
    for pattern, command in NOT_STORED[page].items():
        assert re.search(pattern, text), f"{page} has no such text any more: {pattern}"
        assert command in whole, f"{page} does not name the command that measures {pattern}: {command}"
        text = re.sub(pattern, "", text)
    without_links = re.sub(r"\]\([^)]*\)|`[^`]*`", "", text)
    assert re.findall(rf".*{NUMBER}.*", without_links) == [], "numbers of which nobody knows where they come from"
