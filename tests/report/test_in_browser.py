"""The page in a browser: what a reader does with mouse and keys, and what they then see.

After every test nothing was said in the console, and nothing was loaded but the page itself.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

from sfa.report.page import render_page
from tests.report.browser import asked_for, chromium, prefer, said, set_window
from tests.report.example_data import PAPERS, array, example_data, example_run, four_runs

pytestmark = pytest.mark.browser

PADDING = 24
"""Of the map, in pixels."""

Show = Callable[..., Chrome]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def show(browser: Chrome, tmp_path: Path) -> Iterator[Show]:
    """``show(data)`` opens the page of these data, as a user would from disk."""
    with shown_in(browser, tmp_path) as opened:
        yield opened


@pytest.fixture
def show_anew(tmp_path: Path) -> Iterator[Show]:
    """Open pages in a browser of their own: what a page remembers is written late, and pages on disk share it."""
    with chromium(tmp_path / "profile") as browser, shown_in(browser, tmp_path) as opened:
        yield opened


@contextmanager
def shown_in(browser: Chrome, folder: Path) -> Iterator[Show]:
    said(browser), asked_for(browser)
    file = folder / "report.html"

    def opened(data: dict[str, Any], *, width: int = 1280, scheme: str = "light") -> Chrome:
        file.write_text(render_page(data), encoding="utf-8")
        set_window(browser, width, 900)
        prefer(browser, color_scheme=scheme, reduced_motion="reduce")
        browser.get(file.as_uri())
        next_frame(browser)
        return browser

    yield opened
    assert said(browser) == []
    assert set(asked_for(browser)) <= {file.as_uri()}


def next_frame(page: Chrome) -> None:
    """Wait until what was asked for is drawn; sizes are told after one frame, and drawn in the next."""
    page.execute_async_script(
        "const done = arguments[0]; let n = 3; (function f() { n-- ? requestAnimationFrame(f) : done(); })()"
    )


def one(page: Chrome, selector: str) -> WebElement:
    return page.find_element(By.CSS_SELECTOR, selector)


def every(page: Chrome, selector: str, expression: str) -> list[Any]:
    """What an expression is for each element ``e`` that a selector finds, in one call of the browser."""
    found: list[Any] = page.execute_script(
        f"return [...document.querySelectorAll(arguments[0])].map((e) => {expression})", selector
    )
    return found


def texts(page: Chrome, selector: str) -> list[str]:
    found: list[str] = every(page, selector, "e.textContent")
    return found


def text(page: Chrome, selector: str) -> str:
    (found,) = texts(page, selector)
    return found


def watch(page: Chrome, selector: str) -> Callable[[], list[str]]:
    """Each text that an element has from now on, however short it is there."""
    page.execute_script(
        "const [selector] = arguments, e = document.querySelector(selector), seen = []; "
        "(window.seen ??= {})[selector] = seen; "
        "new MutationObserver(() => seen.push(e.textContent)).observe(e, {childList: true, characterData: true})",
        selector,
    )
    return lambda: list(page.execute_script("return window.seen[arguments[0]]", selector))


def bring_up(page: Chrome, element: WebElement) -> None:
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)


def values(given: dict[str, Any]) -> NDArray[Any]:
    return np.frombuffer(base64.b64decode(given["base64"]), dtype=np.dtype(given["dtype"]).newbyteorder("<"))


def point_at(page: Chrome, element: WebElement, x: float, y: float) -> None:
    """Put the mouse at a pixel of an element, counted from the corner inside its border."""
    bring_up(page, element)
    left, top = page.execute_script(
        "const [e] = arguments, b = e.getBoundingClientRect(); return [b.left + e.clientLeft, b.top + e.clientTop]",
        element,
    )
    # Chromium takes whole pixels: the element may begin at a part of one.
    actions = ActionChains(page, duration=0)
    actions.w3c_actions.pointer_action.move_to_location(round(left + x), round(top + y))
    actions.perform()


def pixels(page: Chrome, run: dict[str, Any]) -> NDArray[np.float64]:
    """Where the map shows each point at first: all of them, as large as fits, in the middle, y upwards."""
    size = page.execute_script(
        "const e = document.getElementById('map-surface'); return [e.clientWidth, e.clientHeight]"
    )
    xy = np.stack([values(run["map"][axis]) for axis in "xy"], 1).astype(float)
    low, high = xy.min(0), xy.max(0)
    scale = ((np.array(size) - 2 * PADDING) / (high - low)).min()
    return np.array(size) / 2 + (xy - (low + high) / 2) * scale * [1, -1]


def apart(places: NDArray[np.float64], *, least: float = 4) -> NDArray[np.int64]:
    """Points with no other so near that the mouse could not tell them apart."""
    distance = np.linalg.norm(places[:, None] - places[None], axis=2) + 1e9 * np.eye(len(places))
    return np.flatnonzero(distance.min(1) > least)


def curve(page: Chrome, name: str, panel: int = 1) -> NDArray[np.float64]:
    """Corners of the curve of that name, in pixels."""
    path = one(page, f'#spectrum .panel:nth-child({panel}) path[data-series="{name}"]').get_attribute("d")
    return np.array([[float(part) for part in pair.split(",")] for pair in re.split("[ML]", path)[1:]])


def slide(page: Chrome, frame: int) -> None:
    page.execute_script(
        "const s = document.querySelector('input.epoch'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))",
        frame,
    )


# The page as a whole


def test_all_sections_with_anchors(show: Show) -> None:
    page = show(example_data())
    sections = [
        "summary",
        "learning",
        "spectrum",
        "alignment",
        "rank",
        "map",
        "confusion",
        "comparison",
        "recipe",
        "versions",
    ]
    assert every(page, "nav a", "e.getAttribute('href')") == [f"#{name}" for name in sections]
    assert every(page, "section", "e.id") == sections
    assert text(page, "h1") == page.title == "cora, GRACE + SFA"
    assert "2026-11-16 15:02 UTC" in text(page, "footer")


def test_the_header_and_the_card_say_the_score(show: Show) -> None:
    data = example_data()
    own = data["runs"][0]["scores"][-1]
    page = show(data)
    assert f"{own['mean']:.2f} ± {own['std']:.2f}" in text(page, "header .headline")
    assert texts(page, "#summary dd") == ["grace", "sfa", "200", "0", "41 s"]
    names = ["raw features", "untrained encoder", "this run"]
    assert texts(page, "#summary .dots .name") == names
    splits = [float(title.split(": ")[1]) for title in texts(page, "#summary .dots circle title")]
    assert splits == [value for score in data["runs"][0]["scores"] for value in score["values"]]
    centres = every(page, "#summary .dots circle", "Number(e.getAttribute('cx'))")
    assert np.corrcoef(splits, centres)[0, 1] == pytest.approx(1, abs=1e-6)


def test_what_is_missing_is_left_out(show: Show) -> None:
    page = show(example_data(example_run(labelled=False, diagnosed=False)))
    assert texts(page, "nav a") == ["Summary", "Learning", "Spectrum", "Map", "Recipe", "Versions"]
    assert "no labels" in text(page, "#summary .note")
    assert "training.diagnose_every" in text(page, "#spectrum .note")
    assert page.find_elements(By.CSS_SELECTOR, "#spectrum input") == []
    assert not one(page, ".legend").is_displayed()


def test_hostile_names_are_shown_as_text(show: Show) -> None:
    hostile = "</script><b class=bad>&amp;<img src=x onerror=alert(1)>"
    run = example_run(
        hostile, class_names=[f"{hostile}{i}" for i in range(7)], ids=[f"{hostile}{i}" for i in range(300)]
    )
    data = example_data(
        {**run, "remarks": [hostile], "how_predicted": hostile, "recipe": f"a: {hostile}\n"}, title=hostile
    )
    page = show(data)
    assert text(page, "h1") == page.title == text(page, ".card h3") == text(page, ".card .note") == hostile
    assert text(page, "pre") == f"a: {hostile}\n"
    assert text(page, ".confusion tbody tr:first-child th") == f"{hostile}0"
    point_at(page, one(page, "#map-surface"), *pixels(page, run)[apart(pixels(page, run))[0]])
    assert text(page, ".map .tooltip .head").startswith(f"node {hostile}")
    assert page.find_elements(By.CSS_SELECTOR, ".bad, main img") == []


@pytest.mark.parametrize("runs", ["one", "four", "forty classes"])
def test_a_phone_needs_no_sideways_scrolling(show: Show, runs: str) -> None:
    long = "runs/" + "a-very-long-name-" * 6
    given = {
        "one": lambda: example_data(example_run(long)),
        "four": four_runs,
        "forty classes": lambda: example_data(example_run(classes=40)),
    }
    page = show(given[runs](), width=360)
    assert page.execute_script("return [innerWidth, document.documentElement.scrollWidth]") == [360, 360]
    assert max(every(page, "svg.plot", "e.getBoundingClientRect().right")) <= 360


def test_the_theme_is_switched_and_remembered(show_anew: Show) -> None:
    page = show_anew(example_data())

    def colours() -> list[str]:
        ground, ink = page.execute_script(
            "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
        )
        return [ground, ink, one(page, "#learning .curve").value_of_css_property("stroke")]

    light, painted = colours(), page.execute_script("return document.getElementById('map-canvas').toDataURL()")
    assert one(page, "#theme").text == "Dark theme"
    one(page, "#theme").click()
    next_frame(page)
    dark = colours()
    assert all(before != after for before, after in zip(light, dark, strict=True))
    assert page.execute_script("return document.getElementById('map-canvas').toDataURL()") != painted

    def is_dark_after_a_reload(_: Chrome) -> bool:
        page.refresh()
        next_frame(page)
        return (colours(), one(page, "#theme").text) == (dark, "Light theme")

    # Chromium hands storage from one document to the next in its own time, which is late on a busy machine.
    WebDriverWait(page, 30, 0.5).until(is_dark_after_a_reload)
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert colours() == light, "paper is white"
    assert page.execute_script("return document.getElementById('map-canvas').toDataURL()") == painted
    page.execute_script("dispatchEvent(new Event('afterprint'))")
    assert colours() == dark
    one(page, "#theme").click()
    assert colours() == light


def test_the_theme_is_at_first_that_of_the_system(show_anew: Show) -> None:
    page = show_anew(example_data(), scheme="dark")
    assert one(page, "#theme").text == "Light theme"
    prefer(page, color_scheme="light")
    WebDriverWait(page, 20, 0.1).until(lambda _: one(page, "#theme").text == "Dark theme")


def test_keys_reach_the_content_and_every_control_has_a_name(show: Show) -> None:
    page = show(four_runs())
    ActionChains(page).send_keys(Keys.TAB).perform()
    assert page.switch_to.active_element.text == "Skip to the content"
    page.switch_to.active_element.send_keys(Keys.ENTER)
    assert page.switch_to.active_element.get_attribute("id") == "main"
    controls = page.find_elements(
        By.CSS_SELECTOR, "input, select, [role=slider], [role=application], .zooms button, .copy, .play"
    )
    shown = [control for control in controls if control.is_displayed()]
    assert len(shown) > 20
    assert [control.get_attribute("outerHTML") for control in shown if not control.accessible_name] == []


def test_commands_and_recipes_are_copied(show: Show) -> None:
    page = show(example_data())
    page.execute_script("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    button = watch(page, ".recipe .copy")
    one(page, ".recipe .copy").click()
    WebDriverWait(page, 20, 0.1).until(lambda _: button() == ["Copied", "Copy"])
    assert page.execute_script("return window.copied") == example_run()["recipe"]


def test_recipes_of_further_runs_show_what_differs(show: Show) -> None:
    page = show(four_runs())
    marked = [[line.strip() for line in texts(page, f".recipe:nth-of-type({i}) mark")] for i in (1, 2)]
    assert marked == [[], ["spectral: sfa", "seed: 1"]]


# Curves


def test_losses_stand_beside_their_chance_levels(show: Show) -> None:
    first, second, third = (example_run(f"runs/{name}", seed=seed) for seed, name in enumerate("abc"))
    page = show(example_data({**first, "chance": 9.5}, {**second, "chance": 9.5}, {**third, "chance": 4.2}))
    assert texts(page, "#learning .key .ghost") == ["by chance, runs/a, runs/b", "by chance, runs/c"]
    paths = every(page, "#learning .curve", "e.getAttribute('d')")
    tops = [min(float(pair.split(",")[1]) for pair in re.split("[ML]", path)[1:]) for path in paths]
    assert min(tops) == tops[3] < max(tops) == tops[4], "one above all losses, one below"
    assert "By chance" in text(page, "#learning")
    assert "By chance" not in text(show(example_data(first)), "#learning")


def test_runs_without_labels_are_shown_beside_features(show: Show) -> None:
    health = {
        "columns": ["effective rank", "AUC of hidden links, %"],
        "rows": [["random embedding", None, 50.0], ["raw features", 3.25, 80.0], ["grace", 1.0, 49.0]],
        "warnings": ["The embedding has collapsed."],
        "remarks": ["Loss: 8.6, and 8.6 by chance."],
    }
    good = {**health, "rows": [*health["rows"][:2], ["g-bt", 40.0, 97.5]], "warnings": []}
    bad, fine = (example_run(f"runs/{name}", labelled=False) for name in ("bad", "fine"))
    page = show(example_data({**bad, "health": health}, {**fine, "health": good}))
    rows = every(page, "#health tbody tr", "[...e.children].map((cell) => cell.textContent)")
    assert rows == [
        ["random embedding", "–", "50.0"],
        ["raw features", "3.3", "80.0"],
        ["runs/bad", "1.0", "49.0"],
        ["runs/fine", "40.0", "97.5"],
    ]
    assert "collapsed" in text(page, ".card:nth-child(1)")
    assert "Nothing looks wrong" in text(page, ".card:nth-child(2)")
    assert "8.6 by chance" in text(page, "#health")


def test_the_learning_curve_is_read_by_mouse_and_by_keys(show: Show) -> None:
    data = four_runs()
    page = show(data)
    losses = [values(run["curve"]["loss"]) for run in data["runs"]]
    frame = one(page, "#learning .frame")

    def reading() -> tuple[int, list[float]]:
        head = text(page, "#learning .tooltip .head")
        return int(head.removeprefix("epoch ")), [float(value) for value in texts(page, "#learning .tooltip b")]

    point_at(page, frame, frame.size["width"] / 3, 100)
    epoch, shown = reading()
    assert 50 < epoch < 80
    assert shown == pytest.approx([float(loss[epoch - 1]) for loss in losses], rel=1e-3)
    frame.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
    assert reading() == (epoch + 1, pytest.approx([float(loss[epoch]) for loss in losses], rel=1e-3))
    assert frame.get_attribute("aria-valuetext").startswith(f"epoch {epoch + 1}: runs/cora-grace-none 6.")
    frame.send_keys(Keys.END)
    assert reading()[0] == int(frame.get_attribute("aria-valuenow")) == 200
    assert len(page.find_elements(By.CSS_SELECTOR, "#learning .curve")) == 4


def test_a_loss_that_hardly_falls_has_ticks_that_differ(show: Show) -> None:
    data = example_data(example_run())
    curve_of_run = data["runs"][0]["curve"]
    epochs = len(values(curve_of_run["epoch"]))
    curve_of_run["loss"] = array(np.linspace(8.5972, 8.5960, epochs), "float32")
    ticks = texts(show(data), "#learning svg text:not(.axis)")
    assert len(ticks) > 4
    assert len([tick for tick in ticks if tick.startswith("8.59")]) > 2
    assert len(set(ticks)) == len(ticks)


def test_a_loss_that_is_not_a_number_leaves_a_gap(show: Show) -> None:
    loss = np.array([3, 2, np.nan, 2, 1])
    run = example_run(epochs=5)
    page = show(example_data({**run, "curve": {"epoch": array(range(1, 6), "int32"), "loss": array(loss, "float32")}}))
    assert re.sub(r"[^ML]", "", one(page, "#learning .curve").get_attribute("d")) == "MLML"


def test_diagnostics_before_and_after_the_map(show: Show) -> None:
    page = show(example_data())
    assert texts(page, "#rank .key li") == ["before the map", "after the map"]
    assert every(page, "#rank .curve", "Boolean(e.getAttribute('stroke-dasharray'))") == [False, True]
    assert [len(page.find_elements(By.CSS_SELECTOR, f"#alignment .panel:nth-child({i}) .curve")) for i in (1, 2)] == [
        2,
        1,
    ]


# The spectrum


def test_the_slider_moves_the_spectrum(show: Show) -> None:
    data = example_data()
    found = data["runs"][0]["diagnostics"]
    page = show(data)
    assert text(page, "output.epoch") == "200"
    before, after, ghost = curve(page, "epoch 200"), curve(page, "epoch 200", panel=2), curve(page, "epoch 1")
    for frame in (3, 12):
        slide(page, frame)
        name = f"epoch {found['epochs'][frame]}"
        assert text(page, "output.epoch") == name.removeprefix("epoch ")
        for panel, kind, last in ((1, "before", before), (2, "after", after)):
            now = curve(page, name, panel)
            assert now.shape == last.shape
            assert np.abs(now - last).max() > 5, "it moves by more than rounding"
            # one logarithmic scale for all epochs: a pixel is always the same share
            sigma = np.log([found[f"spectrum_{kind}"][row] for row in (frame, -1)])
            shift, expected = now[:, 1] - last[:, 1], sigma[1] - sigma[0]
            assert np.corrcoef(shift, expected)[0, 1] > 0.999
        assert (curve(page, "epoch 1") == ghost).all(), "the first one stays, for comparison"


def test_arrow_keys_move_the_spectrum(show: Show) -> None:
    page = show(example_data())
    slider = one(page, "input.epoch")
    slider.send_keys(Keys.ARROW_LEFT)
    assert text(page, "output.epoch") == "190"
    assert slider.get_attribute("aria-valuetext") == "epoch 190"
    assert len(curve(page, "epoch 190")) == 64
    slider.send_keys(Keys.HOME, Keys.ARROW_RIGHT)
    assert text(page, "output.epoch") == "10"


def test_play_goes_through_the_epochs(show: Show) -> None:
    page = show(example_data(example_run(epochs=20)))
    assert text(page, "output.epoch") == "20"
    epochs, button = watch(page, "output.epoch"), watch(page, ".play")
    one(page, ".play").click()
    WebDriverWait(page, 20, 0.1).until(lambda _: button() == ["Pause", "Play"])
    assert epochs() == ["1", "10", "20"], "from the start, as it was at the end"


def test_a_linear_axis(show: Show) -> None:
    page = show(example_data())
    logarithmic = curve(page, "epoch 200")
    page.find_element(By.XPATH, "//label[contains(., 'Logarithmic')]").click()
    linear = curve(page, "epoch 200")
    sigma = np.array(example_data()["runs"][0]["diagnostics"]["spectrum_before"][-1])
    assert np.corrcoef(linear[:, 1], sigma)[0, 1] == pytest.approx(-1, abs=1e-4)
    assert np.corrcoef(logarithmic[:, 1], np.log(sigma))[0, 1] == pytest.approx(-1, abs=1e-4)


def test_all_parts_show_the_run_that_is_chosen(show: Show) -> None:
    data = four_runs()
    page = show(data)
    assert not one(page, "#spectrum .panel:nth-child(2)").is_displayed(), "the first run has no spectral map"
    Select(one(page, "#map select")).select_by_visible_text("runs/cora-grace-sfa")
    chosen = [
        Select(one(page, f"#{part} select")).first_selected_option.text for part in ("spectrum", "map", "confusion")
    ]
    assert chosen == ["runs/cora-grace-sfa"] * 3
    next_frame(page)
    assert one(page, "#spectrum .panel:nth-child(2)").is_displayed()
    rank = data["runs"][1]["diagnostics"]["effective_rank_before"][-1]
    assert text(page, "#spectrum .panel:nth-child(1) .fine") == f"effective rank {rank:.1f} of 64"
    next_frame(page)
    run = data["runs"][1]
    node = apart(pixels(page, run))[5]
    point_at(page, one(page, "#map-surface"), *pixels(page, run)[node])
    assert text(page, ".map .tooltip .head") == f"node {node}"


# The map


def told(run: dict[str, Any], node: int) -> list[str]:
    """What the page must say of a node."""
    label, predicted = (PAPERS[values(run[key])[node]] for key in ("labels", "predicted"))
    part = ("training part", "validation part", "test part")[values(run["part"])[node]]
    verdict = "right" if label == predicted else "wrong"
    return [f"node {node}", f"label {label}", f"predicted {predicted}", f"in the {part}", verdict]


def test_pointing_at_a_node_shows_what_it_is(show: Show) -> None:
    run = example_run()
    page = show(example_data(run))
    places, surface = pixels(page, run), one(page, "#map-surface")
    clear = apart(places)
    right, wrong = (next(node for node in clear if (node % 5 == 0) == is_wrong) for is_wrong in (False, True))
    for node in (right, wrong, clear[-1]):
        point_at(page, surface, *places[node])
        assert texts(page, ".map .tooltip > div") == told(run, node)
    point_at(page, surface, 3, 3)
    assert not one(page, ".map .tooltip").is_displayed()


def test_zoomed_and_moved_it_is_still_the_right_node(show: Show) -> None:
    run = example_run()
    page = show(example_data(run))
    places, surface = pixels(page, run), one(page, "#map-surface")
    size = np.array([surface.get_property("clientWidth"), surface.get_property("clientHeight")])
    surface.send_keys("+", "+", Keys.SHIFT + Keys.ARROW_RIGHT)
    next_frame(page)
    now = size / 2 + (places - size / 2) * 1.4**2 - [40, 0]
    node = next(i for i in apart(now) if (now[i] > 50).all() and (now[i] < size - 50).all())
    point_at(page, surface, *now[node])
    assert text(page, ".map .tooltip .head") == f"node {node}"
    surface.send_keys("0")
    next_frame(page)
    point_at(page, surface, *places[node])
    assert text(page, ".map .tooltip .head") == f"node {node}"


def test_the_wheel_scrolls_the_page_until_the_map_has_the_focus(show: Show) -> None:
    run = example_run()
    page = show(example_data(run))
    surface = one(page, "#map-surface")
    bring_up(page, surface)
    painted = "return document.getElementById('map-canvas').toDataURL()"
    first = page.execute_script(painted)

    def wheel() -> bool:
        handled = page.execute_script(
            "const b = arguments[0].getBoundingClientRect(); "
            "const options = {deltaY: -200, clientX: b.left + 100, clientY: b.top + 100, cancelable: true}; "
            "return !arguments[0].dispatchEvent(new WheelEvent('wheel', options))",
            surface,
        )
        next_frame(page)
        return bool(handled)

    assert not wheel()
    assert page.execute_script(painted) == first
    page.execute_script("arguments[0].focus()", surface)
    assert wheel()
    assert page.execute_script(painted) != first


def test_dragging_moves_the_map_once_it_is_zoomed(show: Show) -> None:
    run = example_run()
    page = show(example_data(run))
    places, surface = pixels(page, run), one(page, "#map-surface")
    size = np.array([surface.get_property("clientWidth"), surface.get_property("clientHeight")])
    bring_up(page, surface)
    page.find_element(By.CSS_SELECTOR, "[aria-label='Zoom in']").click()
    ActionChains(page, duration=20).move_to_element(surface).click_and_hold().move_by_offset(40, 20).move_by_offset(
        20, 10
    ).release().perform()
    next_frame(page)
    now = size / 2 + (places - size / 2) * 1.6 + [60, 30]
    node = next(i for i in apart(now) if (now[i] > 50).all() and (now[i] < size - 50).all())
    point_at(page, surface, *now[node])
    assert text(page, ".map .tooltip .head") == f"node {node}"


def test_arrow_keys_go_to_the_next_node_that_way(show: Show) -> None:
    run = example_run()
    page = show(example_data(run))
    xy = np.stack([values(run["map"][axis]) for axis in "xy"], 1).astype(float)

    def next_one(node: int, way: tuple[int, int]) -> int:
        step = xy - xy[node]
        ahead, aside = step @ way, np.abs(step @ [way[1], -way[0]])
        return int(np.where((ahead > 0) & (aside <= ahead), ahead + 2 * aside, np.inf).argmin())

    one(page, "#map-search").send_keys("150", Keys.ENTER)
    node, surface = 150, one(page, "#map-surface")
    assert text(page, "#map-readout").startswith("node 150, ")
    for key, way in (
        (Keys.ARROW_UP, (0, 1)),
        (Keys.ARROW_LEFT, (-1, 0)),
        (Keys.ARROW_DOWN, (0, -1)),
        (Keys.ARROW_RIGHT, (1, 0)),
    ):
        surface.send_keys(key)
        node = next_one(node, way)
        assert text(page, "#map-readout") == ", ".join(told(run, node)[:-1])
    next_frame(page)
    assert one(page, ".ring").is_displayed()
    centre = page.execute_script(
        "const [r, s] = [...arguments].map((e) => e.getBoundingClientRect()); "
        "return [r.left + r.width / 2 - s.left - 1, r.top + r.height / 2 - s.top - 1]",
        one(page, ".ring"),
        surface,
    )
    assert centre == pytest.approx(pixels(page, run)[node].tolist(), abs=0.1)
    surface.send_keys(Keys.ESCAPE)
    assert text(page, "#map-readout") == ""


def test_a_node_is_found_by_its_id(show: Show) -> None:
    page = show(example_data(example_run(ids=[f"paper-{i}" for i in range(300)])))
    field = one(page, "#map-search")
    for asked, answer in (
        ("paper-77", "node paper-77, "),
        ("PAPER-29", "node paper-29, "),
        ("nobody", "No node has the id nobody."),
    ):
        field.clear()
        field.send_keys(asked, Keys.ENTER)
        assert text(page, "#map-readout").startswith(answer)


def test_without_labels_clusters_or_degrees_colour_the_map(show: Show) -> None:
    cluster, degree = np.arange(300) % 3, np.array([0, 1, 5, 100] * 75)
    run = {**example_run(labelled=False), "cluster": array(cluster, "int32"), "degree": array(degree, "int32")}
    page = show(example_data({**run, "how_clustered": "Clusters: k-means; silhouette 0.40"}))
    assert "silhouette 0.40" in text(page, "#map")
    assert texts(page, ".legend [aria-pressed]") == ["cluster 0100", "cluster 1100", "cluster 2100"]
    Select(one(page, "#map select")).select_by_visible_text("degree")
    assert texts(page, ".legend [aria-pressed]") == ["075", "175", "4 to 775", "64 to 12775"]
    fills = every(page, ".legend .swatch path", "getComputedStyle(e).fill")
    assert len(set(fills)) == 4
    one(page, "#map-search").send_keys("7", Keys.ENTER)
    assert text(page, "#map-readout") == "node 7, cluster 1, degree 100"


def test_the_legend_hides_classes(show: Show) -> None:
    run = example_run()
    page = show(example_data(run))
    counts = np.bincount(values(run["labels"]), minlength=7)
    assert texts(page, ".legend [aria-pressed] .count") == [str(count) for count in counts]
    places, surface = pixels(page, run), one(page, "#map-surface")
    node = apart(places, least=16)[0]
    name = PAPERS[values(run["labels"])[node]]
    button = page.find_element(By.XPATH, f"//div[@class='legend']/button[contains(., '{name}')]")
    for pressed in ("false", "true"):
        bring_up(page, button)
        button.click()
        assert button.get_attribute("aria-pressed") == pressed
        point_at(page, surface, *places[node])
        assert one(page, ".map .tooltip").is_displayed() is (pressed == "true")


def test_colours_tell_right_from_wrong(show: Show) -> None:
    run = example_run()
    page = show(example_data(run))
    Select(one(page, "#map select")).select_by_value("right")
    next_frame(page)
    wrong = np.arange(300) % 5 == 0
    assert texts(page, ".legend [aria-pressed]") == [f"right{(~wrong).sum()}", f"wrong{wrong.sum()}"]
    places = pixels(page, run)
    clear = apart(places, least=12)
    painted = page.execute_script(
        "const canvas = document.getElementById('map-canvas'), {width, height} = canvas; "
        "const {data} = canvas.getContext('2d').getImageData(0, 0, width, height); "
        "return arguments[0].map(([x, y]) => [...data.slice(4 * (Math.round(y) * width + Math.round(x))).slice(0, 4)])",
        places[clear].tolist(),
    )
    is_reddish = np.array([red > blue for red, _, blue, _ in painted])
    assert (is_reddish == wrong[clear]).all()
    assert min(alpha for *_, alpha in painted) > 150


def test_forty_classes_look_all_different(show: Show) -> None:
    page = show(example_data(example_run(classes=40, nodes=2000)))
    looks = every(page, ".legend .swatch path", "e.getAttribute('d') + getComputedStyle(e).fill")
    assert len(set(looks)) == len(looks) == 40


def test_twenty_thousand_nodes(show: Show) -> None:
    run = example_run(nodes=20_000, classes=40)
    page = show(example_data(run))
    places, surface = pixels(page, run), one(page, "#map-surface")
    outermost = [int(places[:, 0].argmin()), int(places[:, 0].argmax()), int(places[:, 1].argmin())]
    for node in outermost:
        point_at(page, surface, *places[node])
        assert text(page, ".map .tooltip .head") == f"node {node}"
    one(page, "#map-search").send_keys("19999", Keys.ENTER)
    assert text(page, "#map-readout").startswith(f"node 19999, label subject {values(run['labels'])[-1]}, ")


# Tables


def test_the_confusion_matrix_in_counts_and_shares(show: Show) -> None:
    run = example_run()
    matrix = np.array(run["confusion"]["matrix"])
    page = show(example_data(run))

    def cells() -> NDArray[np.int64]:
        return np.array([int(cell) for cell in texts(page, ".confusion tbody td:not(.total)")]).reshape(7, 7)

    assert (np.abs(cells() - 100 * matrix / matrix.sum(1, keepdims=True)) <= 0.5).all()
    page.find_element(By.XPATH, "//label[contains(., 'Per cent of each row')]").click()
    assert (cells() == matrix).all()
    assert texts(page, ".confusion tbody td.total") == [str(total) for total in matrix.sum(1)]
    first = one(page, ".confusion tbody tr:nth-child(1) td:nth-of-type(1)")
    sentence = "{} of {} nodes with the label Case_Based were predicted as {} ({:.1f} %)."
    point_at(page, first, 10, 10)
    share = 100 * matrix[0] / matrix[0].sum()
    assert text(page, "#confusion .readout") == sentence.format(matrix[0, 0], matrix[0].sum(), PAPERS[0], share[0])
    first.send_keys(Keys.ARROW_RIGHT)
    assert text(page, "#confusion .readout") == sentence.format(matrix[0, 1], matrix[0].sum(), PAPERS[1], share[1])


def test_the_table_is_sorted_both_ways_by_click_and_by_key(show: Show) -> None:
    page = show(four_runs())
    headings = [re.sub(r"\W+$", "", name) for name in texts(page, ".sortable thead th")]

    def column(name: str) -> list[str]:
        return texts(page, f".sortable tbody tr > :nth-child({headings.index(name) + 1})")

    def heading(name: str) -> WebElement:
        return one(page, f".sortable thead th:nth-child({headings.index(name) + 1})")

    given = column("accuracy")
    rising = sorted(given, key=float)
    assert given not in (rising, rising[::-1])
    bring_up(page, heading("accuracy"))
    button = heading("accuracy").find_element(By.TAG_NAME, "button")
    for act in (button.click, lambda: button.send_keys(Keys.ENTER)):
        for order, state in ((rising, "ascending"), (rising[::-1], "descending")):
            act()
            assert column("accuracy") == order
            assert heading("accuracy").get_attribute("aria-sort") == state
    heading("difference").find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    assert heading("accuracy").get_attribute("aria-sort") == "none"
    for sign in (1, -1):
        found = [float(cell.replace("−", "-")) for cell in column("difference") if cell != "–"]
        assert (len(found), found) == (3, sorted(found, reverse=sign < 0))
        assert column("difference")[3:] == ["–"] * (len(given) - 3), "what has none comes last, either way"
        heading("difference").find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)


def test_every_column_sorts(show: Show) -> None:
    page = show(four_runs())
    heads = page.find_elements(By.CSS_SELECTOR, ".sortable thead th")
    for head in heads:
        head.find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
        states = every(page, ".sortable thead th", "e.getAttribute('aria-sort')")
        assert states == ["ascending" if other == head else "none" for other in heads]


def test_paired_differences_are_on_the_cards(show: Show) -> None:
    data = four_runs()
    page = show(data)
    mean, low, high = data["comparison"][1]["difference"]
    assert len(page.find_elements(By.CSS_SELECTOR, ".card .difference")) == 3
    shown = texts(page, ".card .difference")[0].replace("−", "-")
    assert shown == f"{mean:+.2f} [{low:+.2f}, {high:+.2f}] against runs/cora-grace-none, p = 0.012"
