"""The page as text: one file, nothing to load, and names that cannot become markup."""

from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfa.report.page import SCRIPTS, as_json, render_page
from tests.report.example_data import example_data, example_run

PARTS = files("sfa.report") / "page"
HOSTILE = [
    "</script><b>",
    "<!--<script>",
    "]]>",
    "&lt;i&gt;",
    "\"'`",
    "$title $data ${x}",
    "\\u003c",
    "\u2028é字😀",
    "\udc80",
]

names = st.text() | st.sampled_from(HOSTILE)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | names,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


class Elements(HTMLParser):
    """Elements of a page with their attributes, and the text in each ``script`` and ``title``."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attributes)))
        self.texts.append((tag, ""))

    def handle_endtag(self, tag: str) -> None:
        self.texts.append(("", ""))

    def handle_data(self, text: str) -> None:
        if self.texts:
            tag, before = self.texts[-1]
            self.texts[-1] = (tag, before + text)

    def text_of(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag]


def style_colours() -> dict[str, tuple[str, str]]:
    found = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", (PARTS / "style.css").read_text("utf-8"))
    return {name: (light, dark) for name, light, dark in found}


def contrast(one: str, other: str) -> float:
    """Of two colours, as the accessibility guidelines (WCAG 2) define it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@given(json_values)
def test_json_says_the_same_and_cannot_end_its_element(value: Any) -> None:
    text = as_json(value)
    assert json.loads(text) == value
    assert text.isascii()
    assert not set("<>&") & set(text)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_null(value: float) -> None:
    assert json.loads(as_json({"std": value, "values": [1.5, (value,)]})) == {"std": None, "values": [1.5, [None]]}


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_hostile_names_leave_the_page_as_it_is(name: str) -> None:
    plain, page = (
        Elements(render_page(example_data(example_run(text, class_names=[text] * 7, epochs=20), title=text)))
        for text in ("name", name)
    )
    assert page.found == plain.found
    shown = json.loads(page.text_of("script")[0])
    assert {shown["title"], shown["runs"][0]["name"], *shown["runs"][0]["class_names"]} == {name}
    if name.isascii():
        assert page.text_of("title") == [name]


def test_the_page_holds_the_data_as_they_are() -> None:
    data = example_data()
    page = Elements(render_page(data))
    assert json.loads(page.text_of("script")[0]) == data
    embedded = next(attributes for tag, attributes in page.found if tag == "script")
    assert embedded == {"type": "application/json", "id": "data"}


def test_nothing_is_loaded_from_elsewhere() -> None:
    text = render_page(example_data())
    assert re.findall(r"https?://[^\"'\s]*", text) == ["http://www.w3.org/2000/svg"], (
        "a name of the standard, not loaded"
    )
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|WebSocket|sendBeacon|import\(|EventSource", text)
    links = {attributes.get(key) for _, attributes in Elements(text).found for key in ("href", "src")} - {None}
    assert links == {"data:,", "#main"}
    (policy,) = (a["content"] for _, a in Elements(text).found if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none';")


def test_the_page_is_ascii_and_of_one_style_and_two_scripts() -> None:
    text = render_page(example_data(title="Größe 字"))
    assert text.isascii()
    assert [tag for tag, _ in Elements(text).found if tag in ("style", "script")] == ["style", "script", "script"]


def test_every_part_of_the_script_is_joined_once() -> None:
    kept = {part.name for part in PARTS.iterdir() if part.name.endswith(".js")}
    assert sorted(SCRIPTS) == sorted(kept)


@pytest.mark.parametrize("name", SCRIPTS)
def test_text_never_becomes_markup(name: str) -> None:
    text = (PARTS / name).read_text("utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc", text)


@pytest.mark.parametrize("theme", [0, 1])
def test_colours_can_be_seen(theme: int) -> None:
    colours = {name: pair[theme] for name, pair in style_colours().items()}
    series = [name for name in colours if name.startswith("series-")]
    assert len(series) == 8
    to_read = [("text", "ground"), ("text", "raised"), ("soft", "ground"), ("soft", "raised"), ("accent", "ground")]
    to_read += [("text", "full-right"), ("text", "full-wrong"), ("text", "marked")]
    to_see = [(name, "ground") for name in (*series, "right", "wrong", "edge", "faint")]
    least = dict.fromkeys(to_read, 4.5) | dict.fromkeys(to_see, 3.0)
    assert [pair for pair, needed in least.items() if contrast(*(colours[name] for name in pair)) < needed] == []
