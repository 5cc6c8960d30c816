"""The documentation site builds without a warning, holds together, and asks nothing of a network."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from functools import cached_property
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import typer

import sfa
from sfa.methods import available_methods
from sfa.run import Recipe, shipped_recipes

ROOT = Path(__file__).parents[1]
DOCS = sorted((ROOT / "docs").glob("*.md"))
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "object": "data"}
"""Elements for which a browser asks without being told to, and what names the thing."""

OPTION = re.compile(r"<tr>\s*<td><code>(\w+)</code></td>\s*<td>[^\n]*</td>\s*<td><code>[^\n]*</td>\s*<td>(.*)</td>")
"""A row of the options of a method: its name and its meaning."""


class Html(HTMLParser):
    """What the tests want to know of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.headings: list[str] = []
        self.tags: list[str] = []
        self._words: list[str] = []
        self._open: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self._open.append(tag)
        self.ids |= {value for key in ("id", "name") if (value := given.get(key)) is not None}
        if re.fullmatch("h[1-6]", tag):
            self.headings.append("")
        if tag == "a" and given.get("href") is not None:
            self.links.append(given["href"] or "")
        if given.get(FETCHED.get(tag, "")):
            self.fetched.append(given[FETCHED[tag]] or "")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self.headings and any(re.fullmatch("h[1-6]", tag) for tag in self._open):
            self.headings[-1] += data
        if not {"script", "style", "pre", "code"} & set(self._open):
            self._words.append(data)

    @cached_property
    def words(self) -> str:
        """The text, but for code."""
        return " ".join(self._words)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Html]:
    """The pages by their paths."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)]
    quiet = {"NO_MKDOCS_2_WARNING": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **quiet}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    # 404.html is for servers alone, and its links are theirs.
    pages = {page.relative_to(out).as_posix(): Html(page) for page in out.rglob("*.html") if page.name != "404.html"}
    assert {"index.html", "theory.html"} <= pages.keys()
    return pages


@pytest.mark.slow
def test_links_and_anchors_lead_somewhere(site: dict[str, Html]) -> None:
    broken = []
    by_path = {html.path.resolve(): html for html in site.values()}
    for page, html in site.items():
        for link in [*html.links, *html.fetched]:
            parts = urlsplit(link)
            if parts.scheme or link == "":
                continue
            target = (html.path.parent / unquote(parts.path)).resolve() if parts.path else html.path.resolve()
            is_view = target.name == "results.html" and "=" in parts.fragment  # tests/test_results_page.py
            anchored = is_view or target not in by_path or parts.fragment in {"", *by_path[target].ids}
            if not target.is_file() or not anchored:
                broken.append(f"{page}: {link}")
    assert broken == []


def test_nothing_is_fetched_from_elsewhere(site: dict[str, Html]) -> None:
    foreign = [
        f"{page}: {asked}" for page, html in site.items() for asked in html.fetched if "//" in asked.split(",")[0]
    ]
    assert foreign == []
    styles = {style for html in site.values() for style in html.path.parent.rglob("*.css")}
    assert len(styles) > 1
    for style in styles:
        assert re.findall(r"@import|url\(\s*['\"]?(?:https?:)?//", style.read_text(encoding="utf-8")) == []


def test_no_page_speaks_of_what_is_not_there(site: dict[str, Html]) -> None:
    """Links out of ``docs/`` lead to pages that show those files; none is left that points out of the site."""
    for page, html in site.items():
        depth = page.count("/")
        assert not [link for link in html.links if link.startswith("../" * (depth + 1))], page
    shown = {page for page in site if page.startswith("files/")}
    assert "files/examples/layer_in_a_plain_model.py.html" in shown
    assert {"contributing.html", "changelog.html"} <= site.keys()


def test_anchors_are_those_of_github(site: dict[str, Html]) -> None:
    """A link to a section works in both places."""
    for path in DOCS:
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for heading in re.findall(r"^##+ (.+)$", text, re.MULTILINE):
            slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            assert slug in site[f"{path.stem}.html"].ids, (path.name, heading)


def test_every_method_has_a_page(site: dict[str, Html]) -> None:
    for name, method in available_methods().items():
        html = site[f"methods/{name}.html"]
        text = html.path.read_text(encoding="utf-8")
        recipe = Recipe.parse({"method": name}).as_dict()
        sections = {"method": "options", "encoder": "the-default-encoder", "augmentation": "the-default-augmentation"}
        for kind, anchor in sections.items():
            part = text.partition(f'<h2 id="{anchor}"')[2].partition("<h2")[0]
            told = dict(re.findall(OPTION, part))
            assert told.keys() == (recipe[kind] or {}).keys() - {"name"}, f"{name}: every key of a recipe"
            assert all(told.values()), f"{name}: each with its meaning"
        own = [key for key in shipped_recipes() if key.startswith(f"{name}/")]
        assert own or not method.published, f"{name}: its authors' settings"
        assert all(f"<code>{key}</code>" in text for key in own), name
        assert {"What was measured", "The code"} <= {heading.rstrip("¶") for heading in html.headings}, name
        assert any(link.endswith(f"methods/{name}.html") for link in site["methods.html"].links), f"overview: {name}"


def handed_on(part: str) -> set[str]:
    """The names in ``__all__`` or, in a package without one, those that it imports as themselves; no methods."""
    module = import_module(f"sfa.{part}")
    text = Path(str(module.__file__)).read_text(encoding="utf-8")
    names = set(getattr(module, "__all__", re.findall(r"\b(\w+) as \1\b", text)))
    return names - {method.__name__ for method in available_methods().values()}


def test_every_public_name_is_in_the_api(site: dict[str, Html]) -> None:
    headings = {
        h.split()[0].rstrip("¶") for page, html in site.items() if page.startswith("api/") for h in html.headings
    }
    parts = [part for part in dir(sfa) if (ROOT / "src" / "sfa" / part / "__init__.py").is_file() and part != "cli"]
    public = {f"sfa.{part}.{name}" for part in parts for name in handed_on(part)}
    assert len(public) > 150
    assert public - headings == set()
    index = site["api/index.html"]
    for name in set(sfa.__all__) - {"__version__"}:
        assert any(link.endswith(f".{name}") for link in index.links), name


def test_formulas_are_drawn_and_docstrings_are_no_rest(site: dict[str, Html]) -> None:
    assert site["theory.html"].tags.count("math") > 60
    assert site["api/theory.html"].tags.count("math") > 20
    for page, html in site.items():
        assert not re.search(r"\\\(|\\\[|\\frac|\$\$|arithmatex", html.words), page
        assert not re.search(r":(func|class|meth|attr|data|mod|math):|\.\. math::|>>>", html.words), page


def shown_commands() -> list[tuple[str, str]]:
    """The lines that begin with ``sfa`` in blocks of the documentation, with where they stand."""
    found = []
    for path in [ROOT / "README.md", *DOCS]:
        for language, block in re.findall(
            r"^```(\w*)\n(.*?)^```$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        ):
            for line in block.splitlines() if language == "" else ():
                for command in re.sub(r"\s#.*", "", line).split(" ; "):
                    if command.startswith("sfa ") and "[" not in command:
                        found.append((path.name, command))
    return found


def test_commands_that_are_shown_exist_with_their_options() -> None:
    from sfa.cli.app import app

    root: Any = typer.main.get_command(app)
    commands = shown_commands()
    assert len(commands) > 60
    for page, line in commands:
        command, words = root, shlex.split(line)[1:]
        while words and words[0] in getattr(command, "commands", {}):
            command, words = command.commands[words[0]], words[1:]
        assert command is not root or words[0].startswith("-"), f"{page}: {line}"
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        asked = {word.split("=")[0] for word in words if word.startswith("--")}
        assert asked <= {*known, "--debug", "--help", "--version"}, f"{page}: {line}"
