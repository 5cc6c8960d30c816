"""The page of all results: its rows are those that ship, their commands make the same runs, and readers can filter."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
import typer
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

from sfa.data import names
from sfa.paper.plans import starting_point
from sfa.paper.results_files import Entry
from sfa.paper.tables.make import shipped_entries
from sfa.registry import resolve
from sfa.run import Recipe
from sfa.run.identity import recipe_hash
from sfa.run.legacy import modernize
from sfa.run.recipe import as_changes
from sfa.run.shipped import parse_assignments
from sfa.run.train import asked_recipe
from tests.report.browser import asked_for, chromium, said, set_window

ROOT = Path(__file__).parents[1]
TASKS = {one.name: one.task for one in names()}
SHORT_NAMES = ("method", "spectral", "encoder", "augmentation", "sampler", "epochs", "seed")  # options of the commands

IGNORED = ("method.precision",)  # of the loss, which an untrained encoder has none of


def tool(name: str) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "tools" / "docs_site")
        return import_module(name)


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """The rows that the page holds, as its script has them."""
    fields = tool("result_rows").FIELDS
    script = tool("result_rows").results_script(shipped_entries())
    assert script.startswith(f"window.sfaResults = {{fields: {json.dumps(fields)}, rows: [")
    return [dict(zip(fields, json.loads(line.rstrip(",")), strict=True)) for line in script.splitlines()[1:-1]]


@pytest.mark.slow
def test_every_stored_score_is_in_one_row(rows: list[dict[str, Any]]) -> None:
    stored = [
        (entry.recipe_hash, entry.kind, entry.dataset, score.protocol, metric, entry.seed)
        for entry in shipped_entries()
        for score in entry.scores
        for metric in score.values
    ]
    assert len(set(stored)) == len(stored)
    assert sum(len(row["seeds"]) for row in rows) == len(stored)
    (cora,) = (
        row
        for row in rows
        if (row["method"], row["map"], row["data"], row["protocol"]) == ("grace", "sfa", "cora", "honest-10-10-80")
        and row["commands"] == ["sfa train cora --recipe grace --spectral sfa --set method.precision=full --seed SEED"]
    )
    assert (round(cora["mean"], 2), round(cora["std"], 2), cora["over"]) == (80.82, 0.57, "3 seeds")
    assert (cora["epochs"], cora["published"], cora["seeds"]) == (200, 200, [0, 1, 2])


@pytest.mark.slow
def test_views_that_the_documentation_links_to_show_something(rows: list[dict[str, Any]]) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    views = [dict(parse_qsl(view)) for view in re.findall(r"results\.md#([^)]*=[^)]*)\)", text)]
    assert len(views) > 4
    for view in views:
        words, fields = view.pop("q", "").lower().split(), {**view}
        told = [row for row in rows if fields.items() <= row.items()]
        assert any(all(word in json.dumps(row).lower() for word in words) for row in told), view


def options(command: Any, line: str) -> dict[str, Any]:
    """The values that the command line reads in a line."""
    context: Any = command.make_context(line.split()[1], shlex.split(line)[2:], resilient_parsing=False)
    return dict(context.params)


def told_recipe(line: str) -> Recipe:
    """The recipe that ``sfa train`` makes of a line."""
    from sfa.cli.app import app

    given = options(typer.main.get_command(app).commands["train"], line)  # type: ignore[attr-defined]
    short = tuple((key, given[key]) for key in SHORT_NAMES)
    return recipe_of(given["data"], given["recipe"], tuple(given["set_"] or []), short)


@cache  # rows of many protocols are of the same runs
def recipe_of(
    data: str, recipe: str | None, assignments: tuple[str, ...], short: tuple[tuple[str, Any], ...]
) -> Recipe:
    return asked_recipe(recipe, TASKS[data], data, as_changes(parse_assignments(assignments), dict(short)))


@pytest.mark.slow
def test_commands_resolve_to_the_stored_settings(rows: list[dict[str, Any]]) -> None:
    from sfa.cli.app import app

    root: Any = typer.main.get_command(app)
    stored: dict[tuple[str, str], Entry] = {(one.recipe_hash, one.dataset): one for one in shipped_entries()}
    for commands in {tuple(row["commands"]): row for row in rows}.values():
        entry, seed = stored[commands["recipe"], commands["data"]], commands["seeds"][-1]
        lines = [line.replace("SEED", str(seed)) for line in commands["commands"]]
        if entry.kind == "timed":
            given = options(root.commands["study"], lines[0])
            assert (given["datasets"], given["seeds"], given["threads"]) == ([entry.dataset], [seed], entry.threads)
            study = resolve("study", given["name"])
            base = starting_point(study, entry.dataset, "node", changes={"training.seed": seed})
            found = [recipe_hash({**entry.recipe, **variant.decisive}) for variant in study.variants(base)]
            assert entry.recipe_hash in found, lines
            continue
        recipe = told_recipe(lines[0])
        assert recipe.training.seed == seed
        whole = recipe.as_dict()
        if entry.kind == "trained":
            assert recipe_hash(whole) == entry.recipe_hash, lines
        else:
            assert whole["training"]["epochs"] == 1
            for key, section in modernize(entry.recipe).items():
                for option, value in section.items() if isinstance(section, dict) else [("", section)]:
                    if f"{key}.{option}" not in IGNORED and not key.startswith(("training", "supervised")):
                        assert (whole[key][option] if option else whole[key]) == value, lines
        if len(lines) == 2:  # the run that is trained is the one that is scored, and its protocol exists
            given = options(root.commands["evaluate"], lines[1])
            assert given["protocol"] == [commands["protocol"]]
            assert f"--out {given['run']}" in lines[0]
            resolve("protocol", commands["protocol"])


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Chrome, str]]:
    """The table in a page on disk, with the results on Cora and Photo."""
    folder = tmp_path_factory.mktemp("page")
    entries = [one for one in shipped_entries() if one.dataset in ("cora", "photo") and one.method == "grace"]
    (folder / "results-data.js").write_text(tool("result_rows").results_script(entries), encoding="utf-8")
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    parts = re.findall(r"^<(?:div|script).*$", text, re.MULTILINE)
    assert len(parts) == 3
    body = "\n".join(parts).replace("javascripts/results-data.js", "results-data.js")
    body = body.replace("javascripts/results.js", (ROOT / "docs" / "javascripts" / "results.js").as_uri())
    style = (ROOT / "docs" / "stylesheets" / "site.css").as_uri()
    head = f'<meta charset="utf-8"><link rel="stylesheet" href="{style}"><link rel="icon" href="data:,">'
    (folder / "results.html").write_text(f'<!doctype html>{head}<body class="md-typeset">{body}</body>')
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser, (folder / "results.html").as_uri()


def open_view(page: tuple[Chrome, str], view: str = "") -> Chrome:
    browser, address = page
    browser.get("about:blank")  # else only the hash changes
    said(browser), asked_for(browser)
    browser.get(f"{address}#{view}")
    WebDriverWait(browser, 30).until(lambda opened: opened.find_elements(By.CSS_SELECTOR, ".runs tbody tr"))
    return browser


def column(browser: Chrome, name: str) -> list[str]:
    script = "return [...document.querySelectorAll('.runs-' + arguments[0])].map((cell) => cell.firstChild.textContent)"
    return list(browser.execute_script(script, name))


def count(browser: Chrome) -> int:
    return int(browser.find_element(By.CLASS_NAME, "runs-status").text.split()[0].replace(",", ""))


@pytest.mark.browser
def test_a_reader_filters_sorts_and_shares_the_view(page: tuple[Chrome, str]) -> None:
    browser = open_view(page)
    every = count(browser)
    assert every > 50 == len(column(browser, "data"))
    Select(browser.find_element(By.ID, "results-data")).select_by_value("cora")
    Select(browser.find_element(By.ID, "results-protocol")).select_by_value("honest-10-10-80")
    browser.find_element(By.ID, "results-q").send_keys("kappa=")
    assert 0 < count(browser) < every
    assert set(column(browser, "data")) == {"cora"}
    assert all("kappa=" in name for name in column(browser, "map"))
    score = browser.find_element(By.XPATH, "//th/button[.='Score']")
    score.send_keys(Keys.ENTER)  # by the keyboard; numbers begin with the largest
    means = [float(text.split("\u00a0")[0]) for text in column(browser, "mean")]
    assert means == sorted(means, reverse=True)
    assert score.find_element(By.XPATH, "..").get_attribute("aria-sort") == "descending"
    score.click()
    assert column(browser, "mean")[0].startswith(f"{min(means):.2f}")
    view = browser.current_url.partition("#")[2]
    assert view == "q=kappa%3D&data=cora&protocol=honest-10-10-80&sort=mean"
    again = open_view(page, view)
    assert column(again, "mean")[0].startswith(f"{min(means):.2f}")
    assert Select(again.find_element(By.ID, "results-data")).first_selected_option.text == "cora"
    again.find_element(By.CLASS_NAME, "runs-clear").click()
    assert count(again) == every
    assert "#" not in again.current_url
    assert said(again) == []
    assert all(address.startswith("file:") for address in asked_for(again))


@pytest.mark.browser
def test_pages_short_budgets_and_commands(page: tuple[Chrome, str]) -> None:
    browser = open_view(page, "data=photo&budget=short")
    assert {row.get_attribute("class") for row in browser.find_elements(By.CSS_SELECTOR, ".runs tbody tr")} == {"short"}
    assert all(float(share.split()[0]) < 50 for share in column(browser, "share"))
    browser = open_view(page)
    first = column(browser, "mean")
    browser.find_element(By.XPATH, "//button[contains(., 'Next')]").click()
    assert "page=2" in browser.current_url
    assert column(browser, "mean") != first
    browser = open_view(page, "data=cora&method=grace&map=gentle&protocol=honest-10-10-80")
    more, copy = (browser.find_element(By.CLASS_NAME, name) for name in ("runs-more", "runs-copy"))
    assert more.get_attribute("aria-expanded") == "false"
    more.click()
    seeds = len(column(browser, "seeds")[0].split(", "))
    assert more.get_attribute("aria-expanded") == "true"
    assert more.get_attribute("textContent").count("sfa train cora") == seeds
    copy.click()
    assert "Copied" in browser.find_element(By.CLASS_NAME, "runs-status").text


@pytest.mark.browser
def test_a_phone_shows_cards_that_fit(page: tuple[Chrome, str]) -> None:
    browser = open_view(page, "data=cora")
    set_window(browser, 400, 800)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 400
    assert browser.find_element(By.XPATH, "//th/button[.='Score']").is_displayed()
    open_view(page, "data=nothing")
    assert "No result" in browser.find_element(By.CSS_SELECTOR, ".runs tbody").text
