"""What MkDocs calls while it builds the site: pages made of the code, links, formulas."""

from __future__ import annotations

import re
from pathlib import Path

from api_pages import api_pages
from command_page import command_page
from formulas import draw_formulas
from method_pages import METHODS, method_page
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from navigation import expanded
from repository_pages import linked_pages, with_links
from result_rows import results_script
from results_tables import unbroken_values, with_two_columns

from sfa.paper.tables.make import shipped_entries


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Entries of the navigation that stand for many pages, filled in."""
    config.nav = expanded(config.nav or [], Path(config.docs_dir))
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """The pages that no file in ``docs/`` holds."""
    docs = Path(config.docs_dir)
    made = {
        "commands.md": command_page(),
        **api_pages(),
        **_method_pages(docs.parent),
        **linked_pages(sorted(docs.rglob("*.md")), docs),
        "javascripts/results-data.js": results_script(shipped_entries()),
    }
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links out of ``docs/`` lead to the pages that show those files; names of methods lead to theirs."""
    if page.file.generated_by is not None:
        return markdown
    docs = Path(config.docs_dir)
    text, _ = with_links(markdown, f"docs/{page.file.src_uri}", docs)
    return _with_method_links(text) if page.file.src_uri == "methods.md" else text


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    if page.file.src_uri.startswith("results/table_"):
        html = with_two_columns(html)
    for anchors in page.links_to_anchors.values() if page.links_to_anchors else ():
        for view in [anchor for anchor in anchors if "=" in anchor]:
            del anchors[view]  # a view of the page of all results, `results.md#data=cora`, and no place in it
    return unbroken_values(draw_formulas(html))


def _with_method_links(text: str) -> str:
    """The names in the first cells of tables, as links."""

    def linked(row: re.Match[str]) -> str:
        return re.sub(r"`([^`]+)`", lambda name: _link(name[1]) or name[0], row[0])

    return re.sub(r"^\| `[^|]*(?=\|)", linked, text, flags=re.MULTILINE)


def _link(name: str) -> str | None:
    return f"[`{name}`](methods/{name}.md)" if name in METHODS else None


def _method_pages(root: Path) -> dict[str, str]:
    entries = shipped_entries()
    return {f"methods/{name}.md": method_page(name, entries, root) for name in METHODS}
