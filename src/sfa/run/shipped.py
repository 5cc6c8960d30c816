"""Read YAML, of which all text goes through one loader, and the recipes that come with the package."""

import os
from collections.abc import Sequence
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import yaml

from sfa.errors import InputError, quoted, shortened, unknown_name
from sfa.folders import PathLike, require_regular_file

MAX_BYTES, MAX_VALUES, MAX_DEPTH = 2**18, 10_000, 20  # the largest recipe that ships has 60 lines


@cache
def shipped_recipes() -> dict[str, dict[str, Any]]:
    """Return the recipes in the package by name, ``family/dataset``, each with a line ``about`` it."""
    recipes = {}
    with as_file(files("sfa.run").joinpath("recipes")) as folder:
        for file in sorted(folder.glob("*.yaml")):
            for key, recipe in read_yaml(file, f"recipe {file.name}", "method, spectral and training").items():
                if not key.startswith("_"):  # which holds settings that several recipes share
                    recipes[f"{file.stem}/{key}"] = recipe
    return recipes


def read_recipe(name: PathLike) -> dict[str, Any] | None:
    """Read the file of a recipe; return ``None`` for a shipped one or a family of them, and raise if it is neither."""
    path, shipped = Path(name), shipped_recipes()
    if path.suffix in (".yaml", ".yml") or os.path.exists(path):
        return read_yaml(path, f"recipe {path}", "method, spectral and training")
    families = {key.partition("/")[0] for key in shipped}
    if str(name) not in shipped and str(name).lower() not in families:
        family, slash, _ = str(name).lower().partition("/")
        near = [key for key in shipped if key.startswith(f"{family}/")] or shipped if slash else families
        error = unknown_name("recipe", str(name), near, shown=len(families))
        raise InputError(f"{error} `sfa list recipes` describes all.")
    return None


def read_yaml(file: Path, what: str, keys: str) -> dict[str, Any]:
    """Read a mapping from a file; errors call it ``what``, and say the ``keys`` that it may have."""
    try:
        text = require_regular_file(file, f"The {what}", max_bytes=MAX_BYTES).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InputError(f"The {what} cannot be read: {reason}.") from error
    content = parse_yaml(text, f"The {what}")
    if not isinstance(content, dict):
        raise InputError(f"The {what} must be a mapping with keys such as {keys}.")
    return content


def parse_assignments(assignments: Sequence[str]) -> dict[str, Any]:
    """Return ``["method.tau=0.5"]`` as ``{"method.tau": 0.5}``; values are read as YAML."""
    changes = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--set takes KEY=VALUE, for instance method.tau=0.5, not {quoted(assignment)}.")
        if key.strip() in changes:
            raise InputError(f"--set gives {quoted(key.strip())} twice: give it once.")
        changes[key.strip()] = parse_yaml(value, f"The value of --set {shortened(key, 80)}")
    return changes


def parse_yaml(text: str, what: str) -> Any:
    """Return the plain values that are written in YAML; whatever is wrong with them is one sentence about ``what``."""
    try:
        return yaml.load(text, Loader=PlainLoader)
    except Exception as error:  # as of int, for `0x_`: the constructors of PyYAML check nothing themselves
        reason = str(error) if isinstance(error, yaml.YAMLError) else "a value in it cannot be read."
        raise InputError(f"{what} is not valid YAML: {shortened(reason)}") from error


class PlainLoader(yaml.SafeLoader):
    """Load values that JSON has too; refuse keys given twice, deep nesting, and aliases that multiply."""

    yaml_implicit_resolvers = {  # noqa: RUF012 (as in the base class). A date is text, as 2001-99-99 is none.
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth, self._flat = 0, set[yaml.Node]()
        self._sizes: dict[yaml.Node, int] = {}  # of complete nodes, with what aliases in them stand for

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        is_alias, self._depth = self.check_event(yaml.AliasEvent), self._depth + 1
        if self._depth > MAX_DEPTH or len(self._sizes) > MAX_VALUES:
            raise yaml.YAMLError(f"it is nested more than {MAX_DEPTH} deep, or holds more than {MAX_VALUES} values.")
        node = super().compose_node(parent, index)
        self._depth -= 1
        if is_alias and node not in self._sizes:
            raise yaml.YAMLError("an alias is a part of what it stands for.")
        if node is not None and node not in self._sizes:
            if isinstance(node, yaml.ScalarNode):
                node.value.encode()  # raises for half of a surrogate pair, which no file can hold
            parts = [] if isinstance(node, yaml.ScalarNode) else node.value
            flat = [one for pair in parts for one in pair] if isinstance(node, yaml.MappingNode) else parts
            self._sizes[node] = 1 + sum(self._sizes[one] for one in flat)
            if self._sizes[node] > MAX_VALUES:
                raise yaml.YAMLError(f"it holds more than {MAX_VALUES} values, as its aliases multiply.")
        return node

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        if node not in self._flat:  # afterwards it also holds keys that it overrides
            self._flat.add(node)
            own = [key for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
            seen = set[str]()
            for key in own:
                value = self.construct_object(key, deep=True)
                if not isinstance(value, str) or value in seen:
                    problem = "is given twice" if isinstance(value, str) else "is no text: put it in quotes"
                    raise yaml.YAMLError(f"the key {quoted(value)} in line {key.start_mark.line + 1} {problem}.")
                seen.add(value)
        super().flatten_mapping(node)

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        value = int(super().construct_yaml_int(node))
        if value.bit_length() > 64:
            raise yaml.YAMLError(f"a whole number in line {node.start_mark.line + 1} has more than 64 bits.")
        return value

    def construct_plain(self, node: yaml.Node) -> Any:
        raise yaml.YAMLError(f"the tag {quoted(node.tag)} is not known: give numbers, text, lists and mappings.")


PlainLoader.add_constructor("tag:yaml.org,2002:int", PlainLoader.construct_yaml_int)
for tag in ("binary", "timestamp", "omap", "pairs", "set"):
    PlainLoader.add_constructor(f"tag:yaml.org,2002:{tag}", PlainLoader.construct_plain)
