"""What all embedders share: a recipe of their arguments, fitting, embedding, and one file to keep them in."""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from torch_geometric.data import Data

from sfa.atomic import ensure_writable
from sfa.errors import InputError
from sfa.methods import Method
from sfa.registry import name_of
from sfa.run import Recipe, load_recipe
from sfa.run.parsing import class_of_method, with_required_options
from sfa.run.sections import names_of
from sfa.spectral import SpectralMap
from sfa.tasks import Task
from sfa.train import LambdaCallback, load_tensors, save_tensors, train

if TYPE_CHECKING:
    from typing_extensions import Self

FORMAT = 3
"""Layout of a saved embedder."""
EMBEDDERS: dict[Task, str] = {"node": "NodeEmbedder", "graph": "GraphEmbedder", "image": "ImageEmbedder"}
"""The class that embeds with the methods of a task."""
KINDS = ("encoder", "augmentation", "spectral")
"""Parts of a method that are arguments of an embedder."""


class Embedder(TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """An embedder of one task, which says how its data are read and what of them it keeps.

    Attributes:
        task: What it embeds: the nodes of one graph, the graphs of a set, or images.
        kept: What it must know of the data it was fitted to: attributes of theirs, its own with ``_``, by kind.
    """

    task: ClassVar[Task]
    kept: ClassVar[Mapping[str, type | UnionType]]

    method: str | type[Method] | Method
    encoder: Any
    augmentation: Any
    spectral: Any
    hidden: int | None
    iterations: int | None
    tau: float | None
    epochs: int | None
    lr: float | None
    batch_size: int | None
    node_features: str | None = None
    options: Mapping[str, Any] | None
    random_state: int | np.random.RandomState | None
    device: str

    recipe_: Recipe
    history_: list[dict[str, Any]]
    embedding_: NDArray[np.float32]
    n_features_in_: int

    def _keep(self, arguments: Mapping[str, Any]) -> None:
        """Store the constructor's arguments by name. (Each class has its own: scikit-learn reads parameters off it.)"""
        for name in self._get_param_names():
            setattr(self, name, arguments[name])

    @abstractmethod
    def _read(self, X: Any) -> Data:
        """Return what a user gave, in the one form that methods take."""

    def _check(self, data: Data) -> None:
        """Raise unless the fitted encoder can embed these data."""
        if data.num_features != self.n_features_in_:
            raise InputError(
                f"The nodes have {data.num_features} features; this embedder was fitted to {self.n_features_in_}."
            )

    @classmethod
    def from_recipe(cls, recipe: str | Path | Mapping[str, Any], *, device: str = "auto") -> Self:
        """Make an embedder with all settings of a recipe: a name such as ``paper/cora``, a YAML file, a mapping."""
        parsed = Recipe.parse(recipe) if isinstance(recipe, Mapping) else load_recipe(recipe)
        cls._check_task(parsed)
        sections = parsed.as_dict()
        parts = {kind: sections.pop(kind) for kind in KINDS}
        options: dict[str, Any] = {}
        for name, section in sections.items():
            if isinstance(section, dict):
                options |= {f"{name}.{key}": value for key, value in section.items()}
            elif section is not None:
                options[name] = section
        method, seed = options.pop("method.name"), options.pop("training.seed")
        return cls(method, **parts, options=options, random_state=seed, device=device)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the encoder; labels are not used."""
        recipe, parts = self._recipe()
        data = self._read(X)
        method = recipe.build_for(data, parts=parts)
        prepared = recipe.prepare(data)
        history: list[dict[str, Any]] = []
        train(
            method,
            prepared,
            **recipe.training.arguments,
            sampler=recipe.make_sampler(),
            device=self.device,
            callbacks=[LambdaCallback(on_epoch_end=lambda state: history.append(state.metrics))],
        )
        self.history_ = history
        self._adopt(recipe, method, data.num_features, {name: getattr(data, name, None) for name in self.kept})
        self.embedding_ = self._embed(prepared)
        setattr(self, f"{self.task}_ids_", data[f"{self.task}_ids"])
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return embeddings, a row an item, of what it was fitted to or of other data."""
        self._check_fitted("call fit() or load() first")
        data = self._read(X)
        self._check(data)
        return self._embed(self.recipe_.prepare(data))

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[np.float32]:
        """Return the embeddings of what it is fitted to, which is read once: it may be a generator of graphs."""
        self.fit(X)
        return np.array(self.embedding_)

    def save(self, path: str | Path) -> None:
        """Write the fitted embedder to one safetensors file."""
        self._check_fitted("there is nothing to save")
        path = Path(path)
        ensure_writable(path)
        meta = {
            "format": FORMAT,
            "recipe": self.recipe_.as_dict(),
            "in_features": self.n_features_in_,
            "node_features": self.node_features,
            **{name: getattr(self, f"{name}_") for name in self.kept},
        }
        save_tensors(path, dict(self.method_.state_dict()), meta)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        method: type[Method] | Method | None = None,
        encoder: Any = None,
        augmentation: Any = None,
        spectral: Any = None,
    ) -> Self:
        """Read an embedder that :meth:`save` wrote.

        Nothing is unpickled. Parts of your own that it names as ``module:Class`` are imported: load such files only
        from people whom you trust. Parts that were given as objects are not in the file, but for their weights: give
        them again.

        Args:
            path: The file.
            method: The object that it was made with, if it was a whole method; or the class, if that cannot be found
                by the name that it had.
            encoder: The encoder, if it was an object, for instance ``encoder=my_gat``; its weights do not matter.
            augmentation: The augmentation, if it was an object.
            spectral: The spectral map, or the list of several, if any was an object.
        """
        weights, meta = load_tensors(Path(path))
        not_an_embedder = InputError(f"{path} is not an embedder of this version of sfa: fit it again.")
        if meta.get("format") != FORMAT or not isinstance(meta.get("recipe"), dict):
            raise not_an_embedder
        given = {"method": method, "encoder": encoder, "augmentation": augmentation, "spectral": spectral}
        given = {kind: part for kind, part in given.items() if part is not None}
        objects = {}
        for kind, part in given.items():
            section, objects[kind] = section_of(kind, part)
            if isinstance(section, str) and isinstance(meta["recipe"].get(kind), dict):
                meta["recipe"][kind]["name"] = section  # of a class that has moved, or that only this process knows
        recipe = Recipe.parse(meta["recipe"])
        other = EMBEDDERS[class_of_method(recipe.method["name"]).task]
        if other != EMBEDDERS[cls.task]:
            raise InputError(f"{path} was saved by a fitted sfa.{other}: load it with sfa.{other}.load.")
        if not all(isinstance(meta.get(key), kind) for key, kind in {"in_features": int, **cls.kept}.items()):
            raise not_an_embedder
        parts = {kind: part for kind, part in objects.items() if part is not None}
        for kind in parts:
            if "<" not in (name := names_of(getattr(recipe, kind))):
                raise InputError(f"{path} was saved with the {kind} {name}, by its name: load it without {kind}=….")
        fitted = recipe.build(meta["in_features"], meta.get("num_nodes"), parts=parts)
        try:
            fitted.load_state_dict(weights)
        except RuntimeError as error:
            asks = "that its recipe asks for" if not parts else f"of this {' and '.join(parts)}"
            raise InputError(f"{path} does not hold the weights {asks}.") from error
        embedder = cls.from_recipe(meta["recipe"])
        if "method" in parts:  # which has its own parts
            embedder.set_params(**{kind: cls().get_params()[kind] for kind in KINDS})
        embedder.set_params(**given)
        embedder.node_features = meta.get("node_features")
        embedder._adopt(recipe, fitted, meta["in_features"], {name: meta.get(name) for name in cls.kept})
        return embedder

    def _recipe(self) -> tuple[Recipe, dict[str, Any]]:
        """Return the recipe of the arguments, and those parts of it that were given as objects."""
        given = {
            "method.hidden": self.hidden,
            "method.tau": self.tau,
            "spectral.iterations": self.iterations,
            "training.epochs": self.epochs,
            "training.lr": self.lr,
            "sampler.batch_size": self.batch_size,
        }
        given, options = {key: value for key, value in given.items() if value is not None}, {**(self.options or {})}
        if self.spectral is None or (isinstance(self.spectral, str) and self.spectral == "none"):
            given, options = (
                {key: value for key, value in changes.items() if not key.startswith("spectral.")}
                for changes in (given, options)
            )
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(2**31 - 1)
        given["training.seed"] = int(seed)
        if options.get("training.online_probe"):
            raise InputError(
                "An online probe needs labels, which no embedder looks at: use `sfa train --online-probe`."
            )
        sections, parts = self._parts()
        method = sections.pop("method")
        recipe = Recipe.parse({"method": with_required_options(method, options)})
        self._check_task(recipe)
        if "training.epochs" in options:  # of a whole recipe, whose warm-up is meant for its epochs
            return recipe.updated({**sections, **options}).updated(given), parts
        return recipe.updated({**sections, **options, **given}), parts

    def _parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the named sections of the recipe, and the parts that are objects: those are not in a recipe."""
        sections, parts = sections_of_method(self.method)
        defaults = type(self)().get_params()
        for kind in KINDS:
            part = getattr(self, kind)
            if "method" not in parts:
                if part is not None or kind == "spectral":
                    sections[kind], parts[kind] = section_of(kind, "none" if part is None else part)
            elif part is not None and part is not defaults[kind] and part != defaults[kind]:
                raise InputError(
                    f"The method was given as an object, which has its own {kind}: leave out {kind}, or give the "
                    "method by its name or class."
                )
        return sections, {kind: part for kind, part in parts.items() if part is not None}

    @classmethod
    def _check_task(cls, recipe: Recipe) -> None:
        task = class_of_method(recipe.method["name"]).task
        if task != cls.task:
            name = recipe.method["name"].strip("<>")
            raise InputError(f"{name} embeds {task}s, not {cls.task}s: use sfa.{EMBEDDERS[task]}.")

    def _check_fitted(self, what_then: str) -> None:
        if not hasattr(self, "method_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: {what_then}.")

    def _adopt(self, recipe: Recipe, method: Method, in_features: int, facts: Mapping[str, Any]) -> None:
        self.recipe_, self.method_ = recipe, method.eval()
        self.n_features_in_ = in_features
        for name, value in facts.items():
            setattr(self, f"{name}_", value)

    def _embed(self, data: Data) -> NDArray[np.float32]:
        device = next(self.method_.parameters()).device
        embeddings: NDArray[np.float32] = self.method_.embed(copy.copy(data).to(device)).cpu().numpy()
        return embeddings


def section_of(kind: str, part: Any) -> tuple[Any, Any]:
    """Return the section of a recipe that stands for a part, and the part if it is an object, else ``None``.

    A name or a mapping is its own section, a class has the name that it is registered by or ``package.module:Class``,
    and an object is ``<Class>``. Of a list, both are lists.

    >>> section_of("spectral", ["noise", 3])
    (['noise', {'name': '<int>'}], [None, 3])
    """
    if isinstance(part, list | tuple):
        pairs = [section_of(kind, one) for one in part]
        objects = [found for _, found in pairs]
        return [section for section, _ in pairs], objects if any(one is not None for one in objects) else None
    if isinstance(part, str | Mapping):
        return part, None
    if inspect.isclass(part) or (inspect.isfunction(part) and kind == "encoder"):
        return name_of(kind, part), None
    return {"name": _word(part)}, part


def sections_of_method(method: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the sections that stand for a method, a class or an object, and the object, which has all its parts."""
    if isinstance(method, str):
        return {"method": method}, {}
    if inspect.isclass(method):
        return {"method": name_of("method", method)}, {}
    if not isinstance(method, Method):
        raise InputError(f"A method is a name, a subclass of sfa.methods.Method or an object of one, not {method!r}.")
    sections: dict[str, Any] = {"method": f"<{name_of('method', type(method))}>"}
    if not method.transductive:
        sections["encoder"] = {"name": _word(getattr(method.encoder, "module", method.encoder))}
    if method.takes_augmentation:
        sections["augmentation"] = {"name": _word(method.augmentation)}
    maps = getattr(method.spectral, "maps", [method.spectral])
    names = [{"name": "none" if type(one) is SpectralMap else _word(one)} for one in maps]
    sections["spectral"] = names if len(names) > 1 else names[0] if names else "none"
    return sections, {"method": method}


def _word(part: Any) -> str:
    return f"<{str(getattr(part, '__name__', type(part).__name__)).strip('<>')}>"
