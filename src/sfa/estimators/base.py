"""What all embedders share: a recipe of their arguments, fitting, embedding, and one file to keep them in."""

from __future__ import annotations

import copy
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
from sfa.estimators.parts import KINDS, section_of, sections_of_method
from sfa.levels import Level
from sfa.methods import Method
from sfa.run import Recipe, load_recipe
from sfa.run.parsing import class_of_method, with_required_options
from sfa.run.sections import names_of
from sfa.train import LambdaCallback, load_tensors, save_tensors, train

if TYPE_CHECKING:
    from typing_extensions import Self

FORMAT = 3
"""Layout of a saved embedder."""

EMBEDDERS: dict[Level, str] = {"node": "NodeEmbedder", "graph": "GraphEmbedder", "image": "ImageEmbedder"}
"""The class that embeds with the methods of a level."""


_ARGUMENTS = ("method.name", "training.seed")
"""Keys of a recipe that have an argument of their own, beside those of whole sections."""


class Embedder(TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """An embedder of one level, which says how its data are read and what of them it keeps.

    Each has a constructor of its own, since scikit-learn reads an estimator's parameters off that.
    """

    level: ClassVar[Level]
    """What it embeds: the nodes of one graph, the graphs of a set, or images."""
    kept: ClassVar[Mapping[str, type | UnionType]]
    """What it must know of the data it was fitted to: attributes of theirs, its own with ``_`` at the end, by kind."""

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

    @abstractmethod
    def _read(self, X: Any) -> Data:
        """What a user gave, in the one form that methods take."""

    def _check(self, data: Data) -> None:
        """Raise unless the fitted encoder can embed these data."""
        if data.num_features != self.n_features_in_:
            raise InputError(
                f"The nodes have {data.num_features} features; this embedder was fitted to {self.n_features_in_}."
            )

    @classmethod
    def from_recipe(cls, recipe: str | Path | Mapping[str, Any], *, device: str = "auto") -> Self:
        """An embedder with all settings of a recipe: a shipped name such as ``paper/cora``, a YAML file, a mapping."""
        parsed = Recipe.parse(recipe) if isinstance(recipe, Mapping) else load_recipe(recipe)
        cls._check_level(parsed)
        sections = parsed.as_dict()
        parts = {kind: sections.pop(kind) for kind in KINDS}
        options: dict[str, Any] = {}
        for name, section in sections.items():
            if isinstance(section, dict):
                kept = {key: value for key, value in section.items() if f"{name}.{key}" not in _ARGUMENTS}
                options |= {f"{name}.{key}": value for key, value in kept.items()}
            elif section is not None:
                options[name] = section
        return cls(
            sections["method"]["name"],
            **parts,
            options=options,
            random_state=parsed.training.seed,
            device=device,
        )

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
        self.recipe_ = recipe
        self.history_ = history
        self._adopt(method, data.num_features, {name: getattr(data, name, None) for name in self.kept})
        self.embedding_ = self._embed(prepared)
        setattr(self, f"{self.level}_ids_", data[f"{self.level}_ids"])
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Embeddings, a row an item, of what it was fitted to or of other data."""
        self._check_fitted("call fit() or load() first")
        data = self._read(X)
        self._check(data)
        return self._embed(self.recipe_.prepare(data))

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[np.float32]:
        """The embeddings of what it is fitted to, which is read once: it may be a generator of graphs."""
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
        from people whom you trust.

        Parts that the embedder was given as objects are not in the file, but for their weights: give them again.

        Args:
            path: The file.
            method: The object that it was made with, if it was a whole method; or the class, if that cannot be found
                by the name that it had.
            encoder: The encoder, if it was an object, for instance ``encoder=my_gat``; its weights do not matter.
            augmentation: The augmentation, if it was an object.
            spectral: The spectral map, or the list of several, if any was an object.
        """
        weights, meta = load_tensors(Path(path))
        if meta.get("format") != FORMAT or not isinstance(meta.get("recipe"), dict):
            raise _not_an_embedder(path)
        given = {"method": method, "encoder": encoder, "augmentation": augmentation, "spectral": spectral}
        given = {kind: part for kind, part in given.items() if part is not None}
        objects = {}
        for kind, part in given.items():
            section, objects[kind] = section_of(kind, part)
            if isinstance(section, str) and isinstance(meta["recipe"].get(kind), dict):
                meta["recipe"][kind]["name"] = section  # of a class that has moved, or that only this process knows
        recipe = Recipe.parse(meta["recipe"])
        if _level_of(recipe) != cls.level:
            other = EMBEDDERS[_level_of(recipe)]
            raise InputError(f"{path} was saved by a fitted sfa.{other}: load it with sfa.{other}.load.")
        if not all(isinstance(meta.get(key), kind) for key, kind in {"in_features": int, **cls.kept}.items()):
            raise _not_an_embedder(path)
        for kind, part in objects.items():
            if part is not None and "<" not in names_of(getattr(recipe, kind)):
                name = names_of(getattr(recipe, kind))
                raise InputError(f"{path} was saved with the {kind} {name}, by its name: load it without {kind}=….")
        parts = {kind: part for kind, part in objects.items() if part is not None}
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
        embedder.recipe_ = recipe
        embedder._adopt(fitted, meta["in_features"], {name: meta.get(name) for name in cls.kept})
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
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(2**31 - 1)
        plain = self.spectral is None or (isinstance(self.spectral, str) and self.spectral == "none")
        options, given = (
            {
                key: value
                for key, value in changes.items()
                if value is not None or changes is self.options
                if not plain or not key.startswith("spectral.")
            }
            for changes in (self.options or {}, given)
        )
        if options.get("training.online_probe"):
            raise InputError(
                "An online probe needs labels, which no embedder looks at: use `sfa train --online-probe`."
            )
        sections, parts = self._parts()
        method = sections.pop("method")
        recipe = Recipe.parse({"method": with_required_options(method, options)})
        self._check_level(recipe)
        if "training.epochs" in options:  # of a whole recipe, whose warm-up is meant for its epochs
            return recipe.updated({**sections, **options}).updated({**given, "training.seed": int(seed)}), parts
        return recipe.updated({**sections, **options, **given, "training.seed": int(seed)}), parts

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
    def _check_level(cls, recipe: Recipe) -> None:
        level = _level_of(recipe)
        if level != cls.level:
            name = recipe.method["name"].strip("<>")
            raise InputError(f"{name} embeds {level}s, not {cls.level}s: use sfa.{EMBEDDERS[level]}.")

    def _check_fitted(self, what_then: str) -> None:
        if not hasattr(self, "method_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: {what_then}.")

    def _adopt(self, method: Method, in_features: int, facts: Mapping[str, Any]) -> None:
        self.method_ = method.eval()
        self.n_features_in_ = in_features
        for name, value in facts.items():
            setattr(self, f"{name}_", value)

    def _embed(self, data: Data) -> NDArray[np.float32]:
        device = next(self.method_.parameters()).device
        embeddings: NDArray[np.float32] = self.method_.embed(copy.copy(data).to(device)).cpu().numpy()
        return embeddings


def _level_of(recipe: Recipe) -> Level:
    return class_of_method(recipe.method["name"]).level


def _not_an_embedder(path: str | Path) -> InputError:
    return InputError(f"{path} is not an embedder of this version of sfa: fit it again.")
