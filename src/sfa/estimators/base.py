"""The base class of the embedders: a recipe from their arguments, fitting, embedding, saving and loading."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar
from warnings import warn

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted
from torch_geometric.data import Data

from sfa.atomic import ensure_writable
from sfa.data import as_graph, as_graphs, as_images, fingerprint
from sfa.data.encode import Encode, feature_names
from sfa.errors import InputError, MissingFeaturesError
from sfa.explore import most_similar
from sfa.folders import PathLike
from sfa.methods import Method
from sfa.registry import name_of
from sfa.run import Recipe, load_recipe
from sfa.run.display import Display
from sfa.run.large import in_batches, require_memory_for
from sfa.run.parsing import class_of_method, with_required_options
from sfa.run.recipe import as_changes
from sfa.run.sections import names_of
from sfa.run.source import require_same_features, require_same_graph
from sfa.run.train_recipe import training_progress
from sfa.spectral import SpectralMap
from sfa.tasks import Task
from sfa.train import Callback, LambdaCallback, load_tensors, make_fabric, save_tensors, train
from sfa.train.checkpoint import beginning_with

if TYPE_CHECKING:
    from typing_extensions import Self

FORMAT = 3  # layout of a saved embedder
KINDS = ("encoder", "augmentation", "spectral")  # parts of a method that are arguments of an embedder
READERS: dict[Task, Callable[..., Data]] = {"node": as_graph, "graph": as_graphs, "image": as_images}


@dataclass(eq=False, repr=False)
class Embedder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The arguments of all embedders, and what they do; each keeps the attributes ``kept`` of its data as its own."""

    task: ClassVar[Task]
    kept: ClassVar[Mapping[str, type | UnionType]] = {}
    reading: ClassVar[tuple[str, ...]] = ("node_features",)  # arguments that say how data are read

    method: str | type[Method] | Method = "grace"
    spectral: Any = "auto"
    _: KW_ONLY
    encoder: Any = None
    augmentation: Any = None
    hidden: int | None = None
    iterations: int | None = None
    tau: float | None = None
    epochs: int | None = None
    lr: float | None = None
    batch_size: int | None = None
    options: Mapping[str, Any] | None = None
    random_state: int | np.random.RandomState | None = None
    device: str = "auto"
    verbose: int = 0
    callbacks: Sequence[Callback] | None = None

    @classmethod
    def from_recipe(cls, recipe: str | Path | Mapping[str, Any], *, device: str = "auto") -> Self:
        """Make an embedder with all settings of a recipe: a name such as ``paper/cora``, a YAML file, a mapping."""
        parsed = load_recipe(recipe)
        cls._check_task(parsed)
        parts = {kind: parsed.as_dict()[kind] for kind in KINDS}
        values = {key: value for key, value in parsed.by_path().items() if key.partition(".")[0] not in KINDS}
        method, seed = values.pop("method.name"), values.pop("training.seed")
        own = {} if cls.task == "image" else {"feature_norm": values.pop("feature_norm")}
        return cls(method, **parts, **own, options=values, random_state=seed, device=device)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Show the parameters that are not the method's own, which :meth:`from_recipe` names all."""
        shown = copy.copy(self)
        with suppress(InputError):  # of a method that there is not
            usual = Recipe.parse({"method": self.method if isinstance(self.method, str) else ""})
            for kind in KINDS:
                if getattr(self, kind) == usual.as_dict()[kind]:
                    setattr(shown, kind, type(self)().get_params()[kind])
            own, absent = usual.by_path(), object()
            changed = {path: value for path, value in (self.options or {}).items() if own.get(path, absent) != value}
            shown.options = changed or None
        text: str = BaseEstimator.__repr__(shown, N_CHAR_MAX)
        return text

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Learn the encoder; labels are not used."""
        recipe, parts = self._recipe()
        data = self._read(X, class_of_method(recipe.method["name"]).transductive)
        self._rows(X, data[f"{self.task}_ids"])  # raises before training
        if (note := data.get("features_note")) and (self.verbose or getattr(self, "graph", None) is None):
            Display().say(note)
        recipe = recipe.settled(data)
        method, statistics = recipe.build_for(data, parts=parts), recipe.statistics(data)
        prepared = recipe.prepare(data, statistics)
        fabric = make_fabric(self.device, recipe.training.precision)
        asked = as_changes(self.options or {}, {"epochs": self.epochs, "batch_size": self.batch_size})
        recipe = in_batches(recipe, method, prepared, asked, warn, fabric.device)
        sampler = recipe.make_sampler()(prepared)
        require_memory_for(method, prepared, sampler, recipe.training, fabric.device)
        history: list[dict[str, Any]] = []
        settings = {**recipe.training.arguments, "sampler": lambda _: sampler, "device": fabric}
        keep_metrics = LambdaCallback(on_epoch_end=lambda state: history.append(state.metrics))
        display = Display(quiet=not self.verbose)
        with training_progress(display, "training", recipe.training.epochs) as shown:
            train(method, prepared, **settings, callbacks=[keep_metrics, shown, *(self.callbacks or ())])
        self.history_ = history
        digest = fingerprint(data) if data.get("features_of") else None
        facts = {"in_features": data.num_features, "digest": digest}
        self._adopt(recipe, method, facts | {name: getattr(data, name, None) for name in self.kept}, statistics)
        self.embedding_ = self._embed(prepared)
        setattr(self, f"{self.task}_ids_", data[f"{self.task}_ids"])
        self._edges: Any = data.edge_index if self.task == "node" else None
        return self

    def transform(self, X: Any) -> Any:
        """Return embeddings, one row per item, of the data it was fitted to or of other data."""
        check_is_fitted(self, "method_", msg="This %(name)s is not fitted yet: call fit() or load() first.")
        return self._output(*self._transformed(X))

    def fit_transform(self, X: Any = None, y: Any = None) -> Any:
        """Fit, and return the embeddings of the same data, which are read once: they may be a generator of graphs."""
        ids = getattr(self.fit(X), f"{self.task}_ids_")
        rows = self._rows(X, ids)
        return self._output(self.embedding_[rows], [ids[row] for row in rows])

    def _read(self, X: Any, transductive: bool, encode: Encode = None) -> Data:
        options = {name: getattr(self, name) for name in self.reading}
        options |= {} if self.task == "image" else {"encode": encode}
        try:
            return READERS[self.task](X, labels=False, **options)
        except MissingFeaturesError:
            if not transductive:
                raise
            return as_graph(X, labels=False, node_features="degree")  # any will do, for the method uses none

    def _rows(self, X: Any, ids: Sequence[Any]) -> Sequence[int]:
        """Return the rows of the fitted data that are asked for: all."""
        return range(len(ids))

    def _transformed(self, X: Any) -> tuple[NDArray[np.float32], Sequence[Any]]:
        """Return embeddings and ids."""
        unknown: Encode = "auto" if self.method_.transductive else "none"
        data = self._read(X, self.method_.transductive, getattr(self, "encoding_", None) or unknown)
        if not self.method_.transductive:
            features_of = self.features_of_ if "features_of" in self.kept else data.get("features_of")
            require_same_features(data, self.n_features_in_, features_of, "this embedder was fitted to")
            require_same_graph(data, self._facts["digest"])
        return self._embed(self.recipe_.prepare(data, self._statistics)), data[f"{self.task}_ids"]

    def _output(self, z: NDArray[np.float32], ids: Sequence[Any]) -> Any:
        """Return embeddings as ``set_output`` says; a data frame has the ids as its index."""
        is_frame = _get_output_config("transform", self)["dense"] == "pandas"
        return pd.DataFrame(z, index=pd.Index(ids, name=f"{self.task}_id")) if is_frame else z

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1] if hasattr(self, "embedding_") else self.method_.width)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.no_validation, tags.input_tags.two_d_array = True, False  # data are graphs or images
        tags.input_tags.sparse, tags.transformer_tags.preserves_dtype = True, []
        return tags

    def most_similar(self, one: Any, k: int = 10) -> pd.DataFrame:
        """Return the ``k`` items of the fit that are most similar to one, given by its id, with their cosines."""
        check_is_fitted(self, "embedding_", msg="Similar items are those of the fit: call fit() first.")
        ids = getattr(self, f"{self.task}_ids_")
        return most_similar(torch.from_numpy(self.embedding_), ids, one, k, item=self.task)

    def save(self, path: str | Path) -> None:
        """Write the fitted embedder to one safetensors file."""
        check_is_fitted(self, "method_", msg="This %(name)s is not fitted yet: there is nothing to save.")
        path = Path(path)
        ensure_writable(path)
        meta = {"format": FORMAT, "recipe": self.recipe_.as_dict(), **self._facts}
        meta |= {name: getattr(self, name) for name in self.reading}
        tensors = {**self.method_.state_dict()}
        tensors |= {f"features.{name}": value for name, value in self._statistics.items()}
        if hasattr(self, "embedding_"):
            ids = np.frombuffer(json.dumps(list(getattr(self, f"{self.task}_ids_"))).encode(), np.uint8)
            tensors |= {"fit/embedding": torch.from_numpy(self.embedding_), "fit/ids": torch.from_numpy(ids.copy())}
            tensors |= {} if self._edges is None else {"fit/edges": self._edges}
        save_tensors(path, tensors, meta)

    @classmethod
    def load(
        cls, path: PathLike, *, method: Any = None, encoder: Any = None, augmentation: Any = None, spectral: Any = None
    ) -> Self:
        """Read an embedder that :meth:`save` wrote.

        Nothing is unpickled. Parts of your own that it names as ``module:Class`` are imported: load such files only
        from people whom you trust. Of parts that were given as objects the file has the weights alone: give the objects
        again, for instance ``encoder=my_gat``. ``method`` may also be a class that cannot be found by its name.
        """
        weights, meta = load_tensors(Path(path))
        z, ids, edges = (weights.pop(f"fit/{name}", None) for name in ("embedding", "ids", "edges"))
        not_an_embedder = InputError(f"{path} is not an embedder of this version of sfa: fit it again.")
        if meta.get("format") != FORMAT or not isinstance(meta.get("recipe"), dict):
            raise not_an_embedder
        given = {"method": method, "encoder": encoder, "augmentation": augmentation, "spectral": spectral}
        given = {kind: part for kind, part in given.items() if part is not None}
        sections, parts = split_parts(given)
        for kind, section in sections.items():
            if isinstance(section, str) and isinstance(meta["recipe"].get(kind), dict):
                meta["recipe"][kind]["name"] = section  # of a class that has moved, or that only this process knows
        recipe = Recipe.parse(meta["recipe"])
        task = class_of_method(recipe.method["name"]).task
        if task != cls.task:
            embedder = f"sfa.{task.capitalize()}Embedder"
            raise InputError(f"{path} was saved by a fitted {embedder}: load it with {embedder}.load.")
        if not all(isinstance(meta.get(key), kind) for key, kind in {"in_features": int, **cls.kept}.items()):
            raise not_an_embedder
        for kind in parts:
            if "<" not in (name := names_of(getattr(recipe, kind))):
                raise InputError(f"{path} was saved with the {kind} {name}, by its name: load it without {kind}=….")
        fitted = recipe.build(meta["in_features"], meta.get("num_nodes"), parts=parts)
        statistics = beginning_with("features", weights)
        try:
            fitted.load_state_dict({name: one for name, one in weights.items() if not name.startswith("features.")})
        except RuntimeError as error:
            asks = f"of this {' and '.join(parts)}" if parts else "that its recipe asks for"
            raise InputError(f"{path} does not hold the weights {asks}.") from error
        loaded = cls.from_recipe(meta["recipe"])
        if "method" in parts:  # which has its own parts
            loaded.set_params(**{kind: cls().get_params()[kind] for kind in KINDS})
        loaded.set_params(**given)
        loaded.set_params(**{name: meta[name] for name in cls.reading if name in meta})
        facts = {name: meta.get(name) for name in ("in_features", "digest", *cls.kept)}
        loaded._adopt(recipe, fitted, facts, statistics)
        if z is not None and ids is not None:  # which older files do not have
            loaded.embedding_, loaded._edges = z.numpy(), edges
            setattr(loaded, f"{cls.task}_ids_", json.loads(ids.numpy().tobytes()))
        return loaded

    def _recipe(self) -> tuple[Recipe, dict[str, Any]]:
        """Return the recipe of the arguments, and those parts of it that were given as objects."""
        keywords = ("hidden", "tau", "iterations", "epochs", "lr", "batch_size")
        given, options = as_changes({}, {key: getattr(self, key) for key in keywords}), dict(self.options or {})
        if self.spectral is None or (isinstance(self.spectral, str) and self.spectral == "none"):
            for changes in (given, options):
                for key in [key for key in changes if key.startswith("spectral.")]:
                    del changes[key]
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(2**31 - 1)
        given["training.seed"] = int(seed)
        if self.task != "image":
            options.setdefault("feature_norm", self.feature_norm)
        if options.get("training.online_probe"):
            raise InputError("An online probe needs labels, which no embedder uses: try `sfa train --online-probe`.")
        sections, parts = self._parts()
        recipe = Recipe.parse({"method": with_required_options(sections.pop("method"), options)})
        self._check_task(recipe)
        if "training.epochs" in options:  # of a whole recipe, whose warm-up is meant for its epochs
            return recipe.updated({**sections, **options}).updated(given), parts
        return recipe.updated({**sections, **options, **given}), parts

    def _parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the named sections of the recipe, and the parts that are objects: those are not in a recipe."""
        method: Any = self.method
        if not isinstance(method, Method):
            if not isinstance(method, str) and not inspect.isclass(method):
                kinds = "a name, a subclass of sfa.methods.Method or an object of one"
                raise InputError(f"A method is {kinds}, not {method!r}.")
            given = {"method": method, **{kind: getattr(self, kind) for kind in KINDS}}
            if self.spectral is None:
                given["spectral"] = "none"
            elif isinstance(self.spectral, str) and self.spectral == "auto":
                del given["spectral"]
            return split_parts({kind: part for kind, part in given.items() if part is not None})
        defaults = type(self)().get_params()
        for kind in KINDS:
            part = getattr(self, kind)
            if part is not None and part is not defaults[kind] and part != defaults[kind]:
                this = f"The method was given as an object, which has its own {kind}"
                raise InputError(f"{this}: leave out {kind}, or give the method by its name or class.")
        return sections_of_method(method), {"method": method}

    @classmethod
    def _check_task(cls, recipe: Recipe) -> None:
        task = class_of_method(recipe.method["name"]).task
        if task != cls.task:
            name = recipe.method["name"].strip("<>")
            raise InputError(f"{name} embeds {task}s, not {cls.task}s: use sfa.{task.capitalize()}Embedder.")

    def _adopt(
        self, recipe: Recipe, method: Method, facts: Mapping[str, Any], statistics: Mapping[str, torch.Tensor]
    ) -> None:
        """Set the attributes of the fit, by the facts about its data that a file keeps too."""
        self.recipe_, self.method_, self._facts = recipe, method.eval(), facts
        self._statistics = statistics  # of the features; none of embedders that were saved before version 0.2.0
        self.n_features_in_ = facts["in_features"]
        self.__dict__.pop("feature_names_in_", None)
        names = feature_names(facts.get("encoding") or {})
        if len(names) == self.n_features_in_:
            self.feature_names_in_ = np.array(names, dtype=object)
        for name in self.kept:
            setattr(self, f"{name}_", facts[name])

    def _embed(self, data: Data) -> NDArray[np.float32]:
        if self.task != "image":  # of which the method moves some at a time
            tensors = (*self.method_.parameters(), *self.method_.buffers())
            data = copy.copy(data).to(tensors[0].device)
        embeddings: NDArray[np.float32] = self.method_.embed(data).cpu().numpy()
        return embeddings


def split_parts(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the sections of a recipe that stand for parts, and those parts that are objects."""
    pairs = {kind: section_of(kind, part) for kind, part in given.items()}
    sections = {kind: section for kind, (section, _) in pairs.items()}
    return sections, {kind: part for kind, (_, part) in pairs.items() if part is not None}


def section_of(kind: str, part: Any) -> tuple[Any, Any]:
    """Return the section of a recipe that stands for a part, and the part if it is an object, else ``None``.

    A name or a mapping is its own section, a class has the name that it is registered by or ``package.module:Class``,
    and an object is ``<Class>``. For a list, both are lists.

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
    return {"name": _class_name(part)}, part


def sections_of_method(method: Method) -> dict[str, Any]:
    """Return the sections that stand for a method that was given as an object, with all its parts."""
    sections: dict[str, Any] = {"method": f"<{name_of('method', type(method))}>"}
    if method.encoder is not None:
        sections["encoder"] = {"name": _class_name(getattr(method.encoder, "module", method.encoder))}
    if method.takes_augmentation:
        sections["augmentation"] = {"name": _class_name(method.augmentation)}
    maps = getattr(method.spectral, "maps", [method.spectral])
    names = [{"name": "none" if type(one) is SpectralMap else _class_name(one)} for one in maps]
    return {**sections, "spectral": names if len(names) > 1 else names[0] if names else "none"}


def _class_name(part: Any) -> str:
    return f"<{str(getattr(part, '__name__', type(part).__name__)).strip('<>')}>"
