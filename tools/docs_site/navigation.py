"""The navigation: folders in it stand for the pages that they hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from api_pages import AREAS
from method_pages import METHODS, title

from sfa.tasks import ITEMS


def expanded(nav: list[Any], docs: Path) -> list[Any]:
    """The navigation with folders as the pages that they hold; an empty one is left out."""
    folders = {"methods/": _methods_by_level(), "api/": _areas(), "results/": _pages(docs / "results", docs)}
    whole: list[Any] = []
    for item in nav:
        heading, value = next(iter(item.items())) if isinstance(item, dict) else (None, item)
        inner = expanded(value, docs) if isinstance(value, list) else folders.get(value)
        if inner:
            whole.append({heading: inner})
        elif inner is None:
            whole.append(item)
    return whole


def _pages(folder: Path, docs: Path) -> list[Any]:
    return [page.relative_to(docs).as_posix() for page in sorted(folder.glob("*.md"))]


def _areas() -> list[Any]:
    return ["api/index.md", *({area.title: f"api/{area.page}.md"} for area in AREAS)]


def _methods_by_level() -> list[dict[str, list[dict[str, str]]]]:
    return [
        {
            f"For {words}": [
                {title(name): f"methods/{name}.md"} for name, method in METHODS.items() if method.task == task
            ]
        }
        for task, words in ITEMS.items()
    ]
