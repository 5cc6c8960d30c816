"""One registry for every part that has a name, such as methods, encoders, augmentations and spectral maps.

>>> resolve("spectral", "sfa").__name__
'SpectralFeatureAugmentation'
"""

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
    """Give a part of a kind (one of :data:`HOMES`) a name for recipes, the command line and the estimators.

    Use it as a function, ``sfa.register("method", "mine", MyMethod)``, or as a decorator of the class. Packages can
    register parts without being imported: by an entry point ``name = "package.module:Class"`` in the group
    ``sfa.method`` (or ``sfa.encoder``, ``sfa.spectral``, …).
    """
    if part is None:
        return lambda decorated: register(kind, name, decorated)
    if kind not in _parts:
        raise unknown_name("kind of part", kind, _parts)
    reserved = (kind, name) == ("spectral", "gentle")  # short for sfa with some options
    if reserved or not isinstance(name, str) or not re.fullmatch(r"[^\W_][\w.*+-]*", name):
        raise InputError(f"The name of a {_word(kind)} is a word of letters, digits, '.', '-' and '_', not {name!r}.")
    if HOMES[kind] not in sys.modules and not str(getattr(part, "__module__", "")).startswith("sfa."):
        importlib.import_module(HOMES[kind])  # so that the name of a built-in part is refused here, and not on import
    known = _parts[kind].get(name)
    # A notebook cell that is run again makes the same definition anew.
    same = [(getattr(one, "__module__", None), getattr(one, "__qualname__", None)) for one in (known, part)]
    if known is not None and known is not part and (same[0] != same[1] or None in same[0]):
        raise InputError(f"There is a {_word(kind)} called {name!r} already, {known!r}: choose another name.")
    _parts[kind][name] = part
    return part


def registered(kind: str) -> Mapping[str, Any]:
    """Return all parts of a kind by name: the built-in ones, those of installed packages, and your own."""
    parts = _load(kind)
    for entry in entry_points(group=f"sfa.{kind}"):
        if entry.name not in parts:
            register(kind, entry.name, _load_entry_point(kind, entry))
    return dict(parts)


def resolve(kind: str, name: str) -> Any:
    """Return the part of a kind with this name, or the one that ``package.module:Class`` names.

    Modules are also looked for in the current folder, and ``folder/file.py:Class`` names a class in a file.
    """
    parts = _load(kind)
    if name in parts:
        return parts[name]
    if path := _PATH.fullmatch(name):
        return _import_attribute(path["module"], path["attribute"], kind)
    for entry in entry_points(group=f"sfa.{kind}", name=name):  # no other package can then be in the way
        return register(kind, name, _load_entry_point(kind, entry))
    raise unknown_name(_word(kind), name, known_names(kind))


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
    """Return a name by which a class or function can be resolved; register it if it has none and cannot be imported."""
    for name, known in _load(kind).items():
        if known is part:
            return name
    path = f"{part.__module__}:{part.__qualname__}"
    if is_path(path) and getattr(sys.modules.get(part.__module__), part.__qualname__, None) is part:
        return path
    register(kind, part.__name__, part)
    return str(part.__name__)


def source_of(name: str) -> str | None:
    """Return the class of ``package.module:Class`` and a hash of its file; ``None`` if it is ours or not found."""
    path = _PATH.fullmatch(name)
    if path is None or path["module"].partition(".")[0] == "sfa":
        return None
    try:
        source = Path(inspect.getsourcefile(_import(path["module"])) or "").read_bytes()
    except Exception:
        return None
    return f"{path['attribute']}@{hashlib.sha256(source).hexdigest()[:16]}"


def import_modules(package: str, path: Iterable[str]) -> None:
    """Import all modules of a package, so that a new file registers its parts without being named anywhere."""
    for module in pkgutil.iter_modules(path):
        importlib.import_module(f"{package}.{module.name}")


def known_names(kind: str) -> list[str]:
    """Return the names of all parts of a kind, without loading those of installed packages."""
    return list(dict.fromkeys([*_load(kind), *(entry.name for entry in entry_points(group=f"sfa.{kind}"))]))


_installed = cache(metadata.entry_points)  # as it takes a twentieth of a second


def entry_points(**which: Any) -> Any:
    """Return entry points by ``group`` and ``name``."""
    return _installed().select(**which)


def is_path(name: str) -> bool:
    """Tell whether a name has the form ``package.module:Class`` or ``folder/file.py:Class``."""
    return _PATH.fullmatch(name) is not None


def _load(kind: str) -> dict[str, Any]:
    if kind not in _parts:
        raise unknown_name("kind of part", kind, _parts)
    importlib.import_module(HOMES[kind])
    return _parts[kind]


def _load_entry_point(kind: str, entry: metadata.EntryPoint) -> Any:
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
        found = _import(module)
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
        raise unknown_name(f"{_word(kind)} of {module}", attribute, public, shown=12)
    return getattr(found, attribute)


def _import(module: str) -> Any:
    """Import a module by its name, also from the current folder, or by the path of its file."""
    if not module.endswith(".py"):
        here = str(Path.cwd())
        sys.path.insert(0, here)  # console scripts do not search it by themselves
        try:
            return importlib.import_module(module)
        finally:
            sys.path.remove(here)
    try:
        path = Path(module).expanduser().resolve()
    except RuntimeError as error:  # there is no such user, or links go round in a loop
        raise InputError(f"There is no file {module}.") from error
    name = f"sfa_user_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InputError(f"There is no file {path}.")
    sys.modules[name] = loaded = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(loaded)
    except BaseException:
        del sys.modules[name]
        raise
    return loaded


def _word(kind: str) -> str:
    return WORDS.get(kind, kind)
