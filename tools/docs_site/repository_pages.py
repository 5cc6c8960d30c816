"""Files outside ``docs/`` that pages link to: each becomes a page of the site, so that the link works there as well."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable
from pathlib import Path

LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
FENCE = re.compile(r"^(```.*?^```)", re.DOTALL | re.MULTILINE)
NAMES = {name: name.lower() for name in ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md")}
"""Files with a place of their own; others are found under ``files/``."""
LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".cff": "yaml", ".toml": "toml", ".txt": "text"}


def page_of(path: str) -> str:
    """The page that shows a file of the repository, both as paths."""
    return NAMES.get(path) or f"files/{path.removesuffix('.md')}.md"


def with_links(text: str, path: str, docs: Path, *, shown_at: str | None = None) -> tuple[str, set[str]]:
    """Markdown of a file of the repository with links as its page has them, and what files outside docs it links to.

    Args:
        text: The Markdown.
        path: Of the file, from the repository's root.
        docs: The folder of documentation.
        shown_at: The page's path in the site, where that is not the file's path under ``docs``.
    """
    outside: set[str] = set()
    page = posixpath.relpath(path, "docs") if shown_at is None else shown_at

    def rewritten(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), found[1]))
        if target.startswith("docs/"):
            place = target.removeprefix("docs/")
        elif (docs.parent / target).is_file():
            outside.add(target)
            place = page_of(target)
        else:
            return found[0]  # left for the strict build to complain of
        return posixpath.relpath(place, posixpath.dirname(page) or ".") + (found[2] or "")

    parts = FENCE.split(text)
    return "".join(part if FENCE.match(part) else LINK.sub(rewritten, part) for part in parts), outside


def linked_pages(pages: Iterable[Path], docs: Path) -> dict[str, str]:
    """The Markdown, by page, of all files outside docs that the pages link to, directly or through one another."""
    root = docs.parent
    to_show = set(NAMES)
    for page in pages:
        to_show |= with_links(page.read_text(encoding="utf-8"), page.relative_to(root).as_posix(), docs)[1]
    shown: dict[str, str] = {}
    while to_show:
        path = to_show.pop()
        text, further = _shown(path, docs)
        shown[page_of(path)] = text
        to_show |= {other for other in further if page_of(other) not in shown}
    return shown


def _shown(path: str, docs: Path) -> tuple[str, set[str]]:
    file = docs.parent / path
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        return with_links(text, path, docs, shown_at=page_of(path))
    if file.suffix == ".ipynb":
        return with_links(notebook(text), path, docs, shown_at=page_of(path))
    return f"# `{path}`\n\n" + fenced(text, LANGUAGES.get(file.suffix, "text")), set()


def fenced(text: str, language: str) -> str:
    """A block of code."""
    return f"````{language}\n{text.rstrip()}\n````\n"


def notebook(text: str) -> str:
    """A Jupyter notebook as Markdown, with what its cells printed and drew."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else fenced(source, "python"))
        parts += [_output(output) for output in cell.get("outputs", [])]
    return "\n\n".join(parts)


def _output(output: dict[str, object]) -> str:
    data = output.get("data", {})
    assert isinstance(data, dict)
    if "image/png" in data:
        return f"![What the cell draws](data:image/png;base64,{''.join(data['image/png']).strip()})"
    printed = data.get("text/plain", output.get("text", []))
    return fenced("".join(printed), "text")
