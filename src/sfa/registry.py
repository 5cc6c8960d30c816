"""One registry for every part that has a name: methods, encoders, augmentations, spectral maps, samplers, protocols …

>>> resolve("spectral", "sfa").__name__
'SpectralFeatureAugmentation'
"""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.util
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, TypeVar, overload

from sfa.errors import InputError, unknown_name

Part = TypeVar("Part")

HOMES: dict[str, str] = {
    "method": "sfa.methods",
    "encoder": "sfa.nn",
    "augmentation": "sfa.augment",
    "spectral": "sfa.spectral",
    "postprocess": "sfa.postprocess",
    "sampler": "sfa.sampling",
    "protocol": "sfa.evaluate.protocols",
    "dataset": "sfa.data",
    "logger": "sfa.train.loggers",
    "study": "sfa.paper.studies",
    "figure": "sfa.paper.figures",
}
"""Every kind of part, and the package that registers the built-in ones when it is imported."""

WORDS = {"spectral": "spectral map", "postprocess": "postprocessing step", "dataset": "data set"}
"""What error messages call a kind, where that differs from its name."""

_PATH = re.compile(r"(?P<module>[\w.]+|.+\.py):(?P<attribute>[A-Za-z_]\w*)")
"""``package.module:Class``, or ``folder/file.py:Class``."""

_parts: dict[str, dict[str, Any]] = {kind: {} for kind in HOMES}


@overload
def register(kind: str, name: str) -> Callable[[Part], Part]: ...


@overload
def register(kind: str, name: str, part: Part) -> Part: ...


def register(kind: str, name: str, part: Any = None) -> Any:
    """Give a part a name, by which recipes, the command line and the estimators know it.

    Use it as a function, ``sfa.register("method", "mine", MyMethod)``, or as a decorator of the class. Packages can
    register parts without being imported: by an entry point ``name = "package.module:Class"`` in the group
    ``sfa.method`` (or ``sfa.encoder``, ``sfa.spectral``, …).

    Args:
        kind: One of :data:`HOMES`, for instance ``method`` or ``spectral``.
        name: The name, without ``:`` and spaces.
        part: The class or function; left out when used as a decorator.

    Returns:
        The part itself.
    """
    if part is None:
        return lambda decorated: register(kind, name, decorated)
    _check_kind(kind)
    reserved = (kind, name) == ("spectral", "gentle")  # short for sfa with some options
    if reserved or not isinstance(name, str) or not re.fullmatch(r"[^\W_][\w.*+-]*", name):
        raise InputError(f"The name of a {_word(kind)} is a word of letters, digits, '.', '-' and '_', not {name!r}.")
    if HOMES[kind] not in sys.modules and not str(getattr(part, "__module__", "")).startswith("sfa."):
        importlib.import_module(HOMES[kind])  # so that the name of a built-in part is refused here, and not on import
    known = _parts[kind].get(name)
    if known is not None and known is not part and not _is_same_definition(known, part):
        raise InputError(f"There is a {_word(kind)} called {name!r} already, {known!r}: choose another name.")
    _parts[kind][name] = part
    return part


def registered(kind: str) -> Mapping[str, Any]:
    """Return all parts of a kind by name: the built-in ones, those of installed packages, and your own."""
    _check_kind(kind)
    importlib.import_module(HOMES[kind])
    for entry in entry_points(group=f"sfa.{kind}"):
        if entry.name not in _parts[kind]:
            register(kind, entry.name, _load_entry_point(kind, entry))
    return dict(_parts[kind])


def resolve(kind: str, name: str) -> Any:
    """Return the part of a kind with this name, or the one that ``package.module:Class`` names.

    Modules are also looked for in the current folder, and ``folder/file.py:Class`` names a class in a file.
    """
    _check_kind(kind)
    importlib.import_module(HOMES[kind])
    if name not in _parts[kind] and (path := _PATH.fullmatch(name)):
        return _import_attribute(path["module"], path["attribute"], kind)
    if name not in _parts[kind]:
        for entry in entry_points(group=f"sfa.{kind}", name=name):  # no other package can then be in the way
            return register(kind, name, _load_entry_point(kind, entry))
        raise unknown_name(_word(kind), name, known_names(kind))
    return _parts[kind][name]


def build(kind: str, section: Mapping[str, Any], *args: Any) -> Any:
    """Build a part from a section of a recipe: a name and keyword arguments; ``args`` go before them."""
    options = {key: value for key, value in section.items() if key != "name"}
    part = resolve(kind, section["name"])
    return part if is_ready(part, kind) else part(*args, **options)


def is_ready(part: Any, kind: str) -> bool:
    """Tell whether a part need not be built: a function ``(data, generator)``, or an object, is one as it is."""
    if kind not in ("augmentation", "postprocess") or inspect.isclass(part):
        return False
    if not inspect.isfunction(part):
        return callable(part)
    return any(one.default is one.empty for one in inspect.signature(part).parameters.values())


def name_of(kind: str, part: Any) -> str:
    """Return a name by which a class or function can be resolved; registers it if it has none and cannot be imported.

    >>> from sfa.spectral import Whiten
    >>> name_of("spectral", Whiten)
    'whiten'
    """
    importlib.import_module(HOMES[kind])
    for name, known in _parts[kind].items():
        if known is part:
            return name
    path = f"{part.__module__}:{part.__qualname__}"
    module = sys.modules.get(part.__module__)
    if is_path(path) and getattr(module, part.__qualname__, None) is part:
        return path
    register(kind, part.__name__, part)
    return str(part.__name__)


def source_of(name: str) -> str | None:
    """Return what identifies the part that ``package.module:Class`` names: its class and a hash of its source file.

    ``None`` if it cannot be found, or is a part of this package.
    """
    path = _PATH.fullmatch(name)
    if path is None or path["module"].partition(".")[0] == "sfa":
        return None
    try:
        module = _import_any(path["module"])
        source = Path(inspect.getsourcefile(module) or "").read_bytes()
    except Exception:
        return None
    return f"{path['attribute']}@{hashlib.sha256(source).hexdigest()[:16]}"


def import_modules(package: str, path: Iterable[str]) -> None:
    """Import all modules of a package, so that a new file registers its parts without being named anywhere."""
    for module in pkgutil.iter_modules(path):
        importlib.import_module(f"{package}.{module.name}")


def known_names(kind: str) -> list[str]:
    """Return the names of all parts of a kind, without loading those of installed packages."""
    _check_kind(kind)
    importlib.import_module(HOMES[kind])
    return list(dict.fromkeys([*_parts[kind], *(entry.name for entry in entry_points(group=f"sfa.{kind}"))]))


@cache
def _installed() -> Any:
    """Read the entry points of all installed packages, which takes a twentieth of a second, once."""
    found: Any = metadata.entry_points()  # which mypy takes for that of Python 3.9
    return found


def entry_points(**which: Any) -> Any:
    """Return entry points by ``group`` and ``name``."""
    return _installed().select(**which)


def is_path(name: str) -> bool:
    """Tell whether a name has the form ``package.module:Class`` or ``folder/file.py:Class``."""
    return _PATH.fullmatch(name) is not None


def _load_entry_point(kind: str, entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except Exception as error:
        package = entry.module.partition(".")[0]
        raise InputError(
            f"The {_word(kind)} {entry.name!r} of the installed package {package} cannot be loaded: "
            f"{type(error).__name__}: {error}"
        ) from error


def _import_attribute(module: str, attribute: str, kind: str) -> Any:
    try:
        found = _import_any(module)
    except InputError:
        raise
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0]
        hint = "; install it, or work in the folder that it is in." if missing else ""
        raise InputError(
            f"The {_word(kind)} {module}:{attribute} cannot be imported: {type(error).__name__}: {error}{hint}"
        ) from error
    if not hasattr(found, attribute):
        public = [name for name in vars(found) if not name.startswith("_")]
        if len(public) <= 12:
            raise unknown_name(f"{_word(kind)} of {module}", attribute, public)
        nearest = difflib.get_close_matches(attribute, public, n=1, cutoff=0.5)  # a list of hundreds would help nobody
        hint = f": did you mean {nearest[0]!r}?" if nearest else "."
        raise InputError(f"Unknown {_word(kind)} of {module} {attribute!r}{hint}")
    return getattr(found, attribute)


def _import_any(module: str) -> Any:
    return _import_file(Path(module)) if module.endswith(".py") else _import_module(module)


def _import_module(name: str) -> Any:
    """Import a module, which may lie in the current folder: console scripts do not search that by themselves."""
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    finally:
        if added:
            sys.path.remove(here)


def _import_file(path: Path) -> Any:
    path = path.expanduser().resolve()
    name = f"sfa_user_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InputError(f"There is no file {path}.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _is_same_definition(one: Any, other: Any) -> bool:
    """Tell whether two objects are the same definition, read twice: a notebook cell that was run again."""
    names = [(getattr(part, "__module__", None), getattr(part, "__qualname__", None)) for part in (one, other)]
    return names[0] == names[1] and None not in names[0]


def _check_kind(kind: str) -> None:
    if kind not in _parts:
        raise unknown_name("kind of part", kind, _parts)


def _word(kind: str) -> str:
    return WORDS.get(kind, kind)
