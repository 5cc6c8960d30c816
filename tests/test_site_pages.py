"""What the pages of the documentation site are made of: measured numbers, docstrings, formulas, links."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import griffe
import pytest
import typer

from sfa.evaluate import Score
from sfa.paper.results_files import Entry
from sfa.run import load_recipe
from sfa.run.identity import recipe_hash

ROOT = Path(__file__).parents[1]
TOOLS = ROOT / "tools" / "docs_site"


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Imports a module of the site's tools by its name."""
    monkeypatch.syspath_prepend(TOOLS)
    return import_module


def entry(seed: int, values: tuple[float, ...], **changes: Any) -> Entry:
    """A run of GRACE on Cora with the accuracies of its splits; ``recipe`` holds changes by path."""
    recipe = load_recipe("grace/cora").updated(changes.pop("recipe", {})).as_dict()
    given = {
        "key": f"{seed}",
        "kind": "trained",
        "dataset": "cora",
        "method": "grace",
        "spectral": recipe["spectral"]["name"],
        "recipe": recipe,
        "recipe_hash": recipe_hash(recipe),
        "fingerprint": "f",
        "seed": seed,
        "versions": {"sfa": "1", "torch": "2"},
        "device": "cpu",
        "threads": 1,
        "created": "2026-01-02T03:04:05",
        "epochs": recipe["training"]["epochs"],
        "scores": (Score("z", "honest-10-10-80", {"accuracy": values}, splits="s"),),
    }
    return Entry(**{**given, **changes})


PLAIN = {0: (80.0, 82.0), 1: (81.0, 85.0), 2: (79.0, 81.0)}
WITH_SFA = {0: (82.0, 84.0), 1: (82.0, 87.0), 2: (80.0, 85.0)}


def both(**recipe: Any) -> list[Entry]:
    plain = [entry(seed, values, recipe=recipe) for seed, values in PLAIN.items()]
    return plain + [entry(seed, values, recipe={"spectral": "sfa", **recipe}) for seed, values in WITH_SFA.items()]


def rows(section: list[str]) -> list[list[str]]:
    """The cells of all tables of a page's section."""
    lines = [line.strip() for text in section for line in text.splitlines() if line.strip().startswith("|")]
    return [[cell.strip().replace("\N{NO-BREAK SPACE}", " ") for cell in line.strip("|").split("|")] for line in lines]


def test_numbers_are_means_over_seeds_with_the_deviation_over_seeds(part: Any) -> None:
    heads, _, row = rows(part("measured_tables").measured_section("grace", both()))
    told = dict(zip(heads, row, strict=True))
    means = {name: [statistics.mean(of) for of in those.values()] for name, those in (("p", PLAIN), ("s", WITH_SFA))}
    assert told["plain"] == f"{statistics.mean(means['p']):.2f} ± {statistics.stdev(means['p']):.2f}"
    assert told["with SFA"] == f"{statistics.mean(means['s']):.2f} ± {statistics.stdev(means['s']):.2f}"
    differences = [s - p for p, s in zip(means["p"], means["s"], strict=True)]
    half = 4.3027 * statistics.stdev(differences) / 3**0.5  # Student's, two degrees of freedom
    mean = statistics.mean(differences)
    assert told["difference"] == f"{mean:+.2f} [{mean - half:+.2f}, {mean + half:+.2f}]"
    assert (told["seeds"], told["budget"], told["protocol"]) == ("0, 1, 2", "200 epochs", "`honest-10-10-80`")


def test_other_budgets_and_settings_are_never_pooled(part: Any) -> None:
    short = both(**{"training.epochs": 50})
    batches = both(**{"sampler.name": "clusters", "sampler.batch_size": 512})
    other = both(**{"method.tau": 0.7})
    failed = [entry(9, (1.0, 1.0), failure="the loss is no number")]
    section = part("measured_tables").measured_section("grace", [*both(), *short, *batches, *other, *failed])
    found = rows(section)
    budgets = [row[6] for row in found if row[0] == "cora" and len(row) == 10]
    assert budgets == ["200 epochs", "50 of 200 epochs", "batches of 512 (clusters)"]
    (elsewhere,) = [row for row in found if row[0] == "cora" and len(row) == 9]
    assert elsewhere[1:3] == ["`tau=0.7`", "sfa"]
    assert not any(cell.startswith("1.00") for row in found for cell in row)
    text = "\n".join(section)
    assert "--epochs 50 --seeds 0 1 2\n" in text
    assert "--set sampler.name=clusters sampler.batch_size=512" in text
    assert "sfa 1, torch 2" in text


def test_baselines_stand_beside_on_the_same_splits_alone(part: Any) -> None:
    raw = entry(0, (60.0, 62.0), kind="raw features", method=None)
    elsewhere = entry(0, (10.0, 12.0), kind="raw features", method=None, key="x", recipe_hash="y")
    moved = Entry(
        **{**vars(elsewhere), "scores": (Score("z", "honest-10-10-80", {"accuracy": (1.0, 2.0)}, splits="t"),)}
    )
    heads, _, row = rows(part("measured_tables").measured_section("grace", [moved, raw, *both()]))
    assert dict(zip(heads, row, strict=True))["features alone"] == "61.00 ± 1.41"


def test_patience_and_missing_measurements_are_told(part: Any) -> None:
    section = part("measured_tables").measured_section("grace", [entry(0, (80.0, 82.0), epochs=120)])
    assert "200 epochs, 120 to 120 done (patience)" in "\n".join(section).replace("\N{NO-BREAK SPACE}", " ")
    assert "Nothing yet" in "\n".join(part("measured_tables").measured_section("dgi", both()))


def test_runs_before_a_correction_are_told_apart(part: Any) -> None:
    """G-BT had another encoder: its runs of the old layout stay in the table, and say so."""
    section = {
        "name": "g-bt",
        "hidden": 256,
        "activation": "prelu",
        "batch_norm": True,
        "edge_drop": [0.2, 0.4],
        "feature_drop": [0.3, 0.4],
    }
    own = load_recipe("g-bt/cora").as_dict()
    kept = {key: own[key] for key in ("spectral", "sampler", "feature_norm", "training")}
    old = {**kept, "method": section}
    run = vars(entry(0, (80.0, 82.0), method="g-bt"))
    before = [Entry(**{**run, "recipe": old})]
    text = "\n".join(part("measured_tables").measured_section("g-bt", before)).replace("\N{NO-BREAK SPACE}", " ")
    assert "before its correction, 200 epochs" in text
    assert "--set encoder.norm_momentum=0.1 encoder.activate_last=true" in text
    after = [Entry(**{**run, "recipe": own})]
    text = "\n".join(part("measured_tables").measured_section("g-bt", after))
    assert "correction" not in text


def test_docstrings_become_markdown(part: Any) -> None:
    text = r"""A `"Thing of
    many" <https://arxiv.org/abs/1>`_, a :class:`Thing` of :math:`\sigma_1`;
    :func:`sfa.theory.density`, :meth:`~sfa.paper.results.Ledger.select`.

    .. math::
        a &= b \\
        c &= d

    .. math:: e = f

    >>> 1 + 1
    2

    Args:
        x, y: Both.
    """
    told = part("docstrings").markdown(text)
    assert '["Thing of many"](https://arxiv.org/abs/1)' in told
    assert "a `Thing` of $\\sigma_1$;\n    `sfa.theory.density()`, `select()`." in told
    assert "    $$\n    a &= b \\\\ c &= d\n    $$\n" in told
    assert "    $$\n    e = f\n    $$\n" in told
    assert "    ```pycon\n    >>> 1 + 1\n    2\n    ```\n" in told
    assert "        x: See ``y``.\n        y: Both." in told


def test_references_in_docstrings_lead_to_where_things_are_defined(part: Any) -> None:
    module = griffe.visit("m", Path("m.py"), "from n import far\ndef near(): ...\ndef here(): ...\n")
    told = part("docstrings").markdown(":func:`near`, :func:`far`, :func:`gone`", module["here"])
    assert 'identifier="m.near"' in told
    assert 'identifier="n.far"' in told
    assert told.endswith("`gone()`")


def test_formulas_become_mathml_or_are_refused(part: Any) -> None:
    drawn = part("formulas").draw_formulas
    assert "<msub><mi>a</mi><mi>b</mi></msub>" in drawn('<span class="arithmatex">\\(a_b\\)</span>')
    assert "<mtr>" in drawn('<div class="arithmatex">\\[a &amp;= b \\\\ c &amp;= d\\]</div>')
    large = drawn('<span class="arithmatex">\\(\\big\\{ x \\big\\}\\)</span>')
    assert ">{<" in large
    assert "\\" not in large
    with pytest.raises(ValueError, match="unheardof"):
        drawn('<span class="arithmatex">\\(\\big\\unheardof\\)</span>')


def test_links_out_of_docs_lead_to_pages_that_show_the_files(part: Any) -> None:
    pages = part("repository_pages")
    text = "[a](../README.md#x) [b](theory.md#y) [c](https://z.org)\n```\n[d](../README.md)\n```\n[e](../gone.py)"
    told, outside = pages.with_links(text, "docs/files.md", ROOT / "docs")
    assert told.startswith("[a](readme.md#x) [b](theory.md#y) [c](https://z.org)")
    assert "[d](../README.md)" in told, "code is left alone"
    assert told.endswith("[e](../gone.py)"), "left for the strict build to complain of"
    assert outside == {"README.md"}
    told, _ = pages.with_links("[t](docs/theory.md)", "README.md", ROOT / "docs", shown_at="files/deep/readme.md")
    assert told == "[t](../../theory.md)"


def test_results_have_two_columns_and_values_are_not_broken(part: Any) -> None:
    rows = [["Method", "Cora", "Kind"], ["GRACE", "83.51 ± 0.25<br />82.09 ± 0.45¹", "node"]]
    rows += [["BGRL", "80.0<br>79.0³", "node"]]
    rows += [["G-BT", "83.6 ± 0.5<br>81.0 ± 0.4²<br>-0.1 [-0.2, +0.0]", "node"], ["DGI †", "<b>84.0</b>²", "node"]]
    lines = "\n".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    notes = "<ul><li>¹ honest, the recipe's own budget.</li><li>² honest, seed 0, 20 of 200 epochs.</li>"
    notes += "<li>³ honest, 100 of 200 epochs.</li></ul>"
    tables = part("results_tables")
    told = tables.unbroken_values(tables.with_two_columns(f"<table>{lines}</table>{notes}"))
    head, _, grace, bgrl, g_bt, dgi = (line for line in told.splitlines() if "<tr>" in line)
    assert '<th colspan="2">Cora</th><th rowspan="2">Kind</th>' in head
    assert "<td>83.51\xa0±\xa00.25</td><td>82.09\xa0±\xa00.45¹</td><td>node</td>" in grace
    assert "<td>79.0³</td>" in bgrl, "half of the epochs"
    assert '<td class="short">81.0\xa0±\xa00.4²<br><small>-0.1 [-0.2, +0.0]</small></td>' in g_bt
    assert '<td>DGI\xa0†</td><td></td><td class="short"><b>84.0</b>²</td>' in dgi
    assert "Grey:" in told
    plain = "<table><tr><th>a</th></tr><tr><td>1</td></tr></table>"
    assert tables.with_two_columns(plain) == plain


def test_the_page_of_commands_has_them_all(part: Any) -> None:
    from sfa.cli.app import app

    told, root = part("command_page").command_page(), typer.main.get_command(app)
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        section = told.partition(f"## sfa {name}\n")[2].partition("\n## ")[0]
        assert section.count(f"sfa {name}") > 1, f"{name}: usage and an example"
        for one in command.params:
            assert (f"`{one.opts[0]}`" if one.param_type_name == "option" else f"`{one.name}`") in section, one.name


def test_a_notebook_is_shown_with_its_results(part: Any) -> None:
    text = (ROOT / "examples" / "embed_my_graph.ipynb").read_text(encoding="utf-8")
    told = part("repository_pages").notebook(text)
    assert told.startswith("# Embed my graph")
    assert "````python\n" in told
    assert "](data:image/png;base64," in told


def test_values_of_options_are_told_in_words(part: Any) -> None:
    from sfa.ranges import Count, Positive, Share

    values = part("options").values
    assert values(Count) == "whole number from 1 to 1,000,000,000"
    assert values(tuple[Share, Share]) == "2, each: number from 0 to 1"
    assert values(Positive | None) == "none or number above 0"
