"""Pages of the API by area: every name that a package of ``sfa`` makes public, described by its docstring."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import docstrings
from markdown_parts import table
from method_pages import METHODS, title

from sfa.tasks import ITEMS


@dataclass(frozen=True)
class Area:
    """A page: its file name, its title, and the modules whose public names it has."""

    page: str
    title: str
    modules: tuple[str, ...]


AREAS = (
    Area("layer", "The layer and other spectral maps", ("spectral",)),
    Area("estimators", "Estimators", ("estimators",)),
    Area("theory", "Theory", ("theory", "theory.rivals")),
    Area("losses", "Losses", ("losses",)),
    Area("methods", "Methods", ("methods",)),
    Area("encoders", "Encoders and heads", ("nn",)),
    Area("augmentations", "Augmentations and postprocessing", ("augment", "postprocess")),
    Area("data", "Data", ("data", "export")),
    Area("run", "Runs and recipes", ("run",)),
    Area("training", "Samplers and training", ("sampling", "train")),
    Area("evaluation", "Evaluation", ("evaluate",)),
    Area(
        "studies",
        "Studies and results",
        ("paper.studies", "paper.plans", "paper.runner", "paper.results", "paper.summary"),
    ),
    Area("tables", "Tables", ("paper.tables.make", "paper.tables.selection")),
    Area("figures", "Figures", ("paper.figures", "plots")),
    Area("report", "Report", ("report",)),
    Area("sweep", "Sweep", ("sweep",)),
    Area("lightning", "Lightning", ("lightning",)),
    Area("registry", "Parts of your own", ("registry", "testing")),
    Area("errors", "Errors", ("errors",)),
)


def api_pages() -> dict[str, str]:
    """The Markdown of every page under ``api/``, an index among them."""
    return {"api/index.md": _index(), **{f"api/{area.page}.md": _page(area) for area in AREAS}}


def _index() -> str:
    areas = [
        [f"[{area.title}]({area.page}.md)", ", ".join(f"`sfa.{module}`" for module in area.modules)] for area in AREAS
    ]
    names = [[f"[`sfa.{name}`][{path}]", _summary(path)] for name, path in public_names("sfa").items()]
    return "\n\n".join(
        [
            "# API",
            "What can be had from `sfa` itself; parts of the package are loaded when they are first asked for, so that "
            "`sfa.theory` needs no import of its own.",
            table(["name", "what it is"], names),
            "## By area",
            table(["page", "modules"], areas),
        ]
    )


def _page(area: Area) -> str:
    parts = [f"# {area.title}"]
    for module in area.modules:
        parts += [f"## `sfa.{module}`", docstrings.markdown(ast.get_docstring(_tree(f"sfa.{module}")) or "")]
        if module == "methods":
            parts.append(_methods())
        parts += [_entry(f"sfa.{module}", name, path) for name, path in public_names(f"sfa.{module}").items()]
    return "\n\n".join(parts) + "\n"


def _entry(module: str, name: str, path: str) -> str:
    return (
        f'::: {path}\n    options:\n      heading: "{module}.{name}"\n      toc_label: "{name}"\n      heading_level: 3'
    )


def _methods() -> str:
    rows = [[f"[{title(name)}](../methods/{name}.md)", f"`{name}`", ITEMS[METHODS[name].task]] for name in METHODS]
    return "Each method has a page of its own:\n\n" + table(["method", "name", "embeds"], rows)


def public_names(module: str) -> dict[str, str]:
    """What a module makes public, with the path of each where it is defined; what `sfa` itself has comes first."""
    names = sorted(_public(module), key=lambda name: name not in _public("sfa"))
    return {name: _defined(module, name) for name in names if not name.startswith("__")}


def _public(module: str) -> list[str]:
    """The names in ``__all__``; of a module without one, what it defines, and what it imports as itself.

    Methods are left out: each has a page of its own.
    """
    body = _tree(module).body
    for node in body:
        if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == "__all__" for to in node.targets):
            return list(ast.literal_eval(node.value))
    imported = [alias.name for node in _imports(_tree(module)) for alias in node.names if alias.asname == alias.name]
    defined = [node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    classes = {method.__name__ for method in METHODS.values()}
    return [name for name in (*imported, *defined) if not name.startswith("_") and name not in classes]


def _defined(module: str, name: str) -> str:
    """The path of a public name, followed through the packages that hand it on."""
    for source in _imports(_tree(module)):
        if source.module is not None and any((alias.asname or alias.name) == name for alias in source.names):
            original = next(alias.name for alias in source.names if (alias.asname or alias.name) == name)
            return f"{module}.{name}" if source.module == module else _defined(source.module, original)
    return f"{module}.{name}"


def _imports(tree: ast.Module) -> Iterator[ast.ImportFrom]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))


def _summary(path: str) -> str:
    """The first line of a docstring."""
    module, _, name = path.rpartition(".")
    for node in _tree(module).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name:
            return docstrings.markdown(ast.get_docstring(node) or "").split("\n")[0]
    return ""


@cache
def _tree(module: str) -> ast.Module:
    spec = importlib.util.find_spec(module)
    assert spec is not None, module
    assert spec.origin is not None, module
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
