"""Any network as an encoder: models of PyTorch Geometric, torchvision or timm, or a module of one's own."""

import copy
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.batches import sum_pool
from sfa.modes import evaluating
from sfa.nn.gin import GraphEncoder
from sfa.nn.image_encoder import ImageEncoder
from sfa.tasks import ITEMS, Task, task_attribute


def as_encoder(module: nn.Module, task: Task = "node", *, width: int | None = None) -> nn.Module:
    """Return a module as an encoder, which maps data to embeddings and has an attribute ``width`` and ``embed(data)``.

    Encoders of :mod:`sfa.nn` for this task are returned as they are. Others are called with the arguments of their
    ``forward``: ``x, edge_index`` and, if there are any, ``edge_weight`` (models of PyTorch Geometric), ``x`` alone, a
    PyG ``Data``, or images ``(b, channels, height, width)``. Dropout inside them is seeded from the step's generator.

    Args:
        task: What is embedded: ``node``, ``graph`` (node embeddings are summed over each graph) or ``image``.
        width: Width of its output; found by a trial if not given.
    """
    if not isinstance(module, nn.Module):
        raise InputError(f"An encoder is a torch.nn.Module, not {module!r}.")
    own = task_attribute(module)
    if own == task and hasattr(module, "embed") and hasattr(module, "width"):
        return module
    if own in ITEMS and own != task and (own, task) != ("node", "graph"):
        raise InputError(f"The encoder {type(module).__name__} embeds {ITEMS[own]}, not {ITEMS[task]}.")
    wrapper: Any = {"node": WrappedNodeEncoder, "graph": WrappedGraphEncoder, "image": WrappedImageEncoder}[task]
    return wrapper(module, output_width(module, task) if width is None else width)  # type: ignore[no-any-return]


def renewed(encoder: nn.Module) -> Any:
    """Return a copy of an encoder with newly drawn weights, for methods that train several of a kind."""

    def reset(module: Any) -> None:
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()
        elif next(module.parameters(recurse=False), None) is not None:
            name = type(module).__name__
            raise InputError(f"{name} cannot draw new weights for a second encoder: give it reset_parameters().")
        else:
            for child in module.children():
                reset(child)

    fresh = copy.deepcopy(encoder)
    reset(fresh)
    return fresh


def read_old_name(module: nn.Module, old: str, new: str) -> None:
    """Let a module read weights that were saved when its part ``new`` was called ``old``."""

    def rename(_: nn.Module, state: dict[str, Any], prefix: str, *others: Any) -> None:
        for key in [key for key in state if key.startswith(f"{prefix}{old}.")]:
            state[f"{prefix}{new}.{key.removeprefix(f'{prefix}{old}.')}"] = state.pop(key)

    module.register_load_state_dict_pre_hook(rename)  # type: ignore[no-untyped-call]


def materialize(view: Data) -> Data:
    """Make a plain graph of a view: masked columns are zeros, removed edges are gone, features are dense."""
    plain = copy.copy(view)
    mask, weight = view.get("feature_mask"), view.get("edge_weight")
    x = view.x.to_dense() if view.x.layout != torch.strided else view.x
    plain.x = x if mask is None else x * mask.to(x.dtype)
    if weight is not None:
        kept = weight > 0
        plain.edge_index = view.edge_index[:, kept]
        plain.edge_weight = None if bool((weight[kept] == 1).all()) else weight[kept]
        if view.get("edge_attr") is not None:
            plain.edge_attr = view.edge_attr[kept]
    for note in {"feature_mask", "directed"} & set(plain.keys()):
        del plain[note]
    return plain


class WrappedNodeEncoder(nn.Module):
    task: ClassVar[Task] = "node"

    def __init__(self, module: nn.Module, width: int) -> None:
        super().__init__()
        self.module, self.width = module, width

    @property
    def uses_edges(self) -> bool:
        """Whether it gets more than the features, so that rows of its output may depend on other nodes."""
        return not _takes_features_alone(_arguments(self.module))

    def forward(self, data: Data, generator: torch.Generator | None = None) -> Tensor:
        return _call_on_view(self, data, generator, data.num_nodes)

    @torch.no_grad()
    def embed(self, data: Data) -> Tensor:
        with evaluating(self):
            return self(data)  # type: ignore[no-any-return]


class WrappedGraphEncoder(GraphEncoder):
    """A module that embeds nodes, whose output is summed over each graph, or one that embeds graphs itself."""

    def __init__(self, module: nn.Module, width: int) -> None:
        super().__init__(width, layers=1)
        self.module = module

    def layer_outputs(self, batch: Data, generator: torch.Generator | None = None) -> Iterator[Tensor]:
        h = _call_on_view(self, batch, generator, batch.num_nodes, len(batch.ptr) - 1)
        if len(h) != batch.num_nodes:
            name = type(self.module).__name__
            raise InputError(f"{name} embeds graphs and not their nodes, which this method needs.")
        yield h

    def forward(self, batch: Data, generator: torch.Generator | None = None) -> Tensor:
        self._check(batch)
        h = _call_on_view(self, batch, generator, batch.num_nodes, len(batch.ptr) - 1)
        return sum_pool(h, batch.ptr) if len(h) == batch.num_nodes else h


class WrappedImageEncoder(ImageEncoder):
    """A network from images ``(b, channels, height, width)``, with standardized channels, to ``(b, width)``."""

    def __init__(self, module: nn.Module, width: int) -> None:
        super().__init__(_input_width(module) or 3, width)
        self.module = module

    def maps(self, images: Tensor) -> Tensor:
        return _checked(self, self.module(images), len(images))[:, :, None, None]

    def forward(self, images: Tensor, generator: torch.Generator | None = None) -> Tensor:
        with _seeded(self.module, generator):
            return super().forward(images, generator)

    def largest_map(self, height: int, width: int) -> int:
        return 64 * height * width  # nothing is known of it: as many channels as most networks begin with


def call(module: nn.Module, data: Data | Tensor) -> Any:
    """Call a module with the arguments of its ``forward``: features and edges, features alone, or all of the data."""
    if isinstance(data, Tensor):
        return module(data)
    names = _arguments(module)
    if "edge_index" not in names:
        return module(data.x if _takes_features_alone(names) else data)
    given = {name: data[name] for name in names if name in ("edge_weight", "batch") and data.get(name) is not None}
    given["edge_index"] = data.edge_index
    return module(x=data.x, **given) if "x" in names else module(data.x, **given)


def _arguments(module: nn.Module) -> list[str]:
    """Return the names of the arguments of a module's ``forward``."""
    # A compiled module has the signature of the original, PyG's `Sequential` one that it declares itself.
    plain = getattr(module, "_orig_mod", module)
    declared = getattr(getattr(plain, "signature", None), "param_dict", None)
    return list(inspect.signature(plain.forward).parameters if declared is None else declared)


def _takes_features_alone(names: list[str]) -> bool:
    return "edge_index" not in names and bool(names) and names[0] in ("x", "input", "features")


def _call_on_view(encoder: Any, data: Data, generator: torch.Generator | None, *rows: int) -> Tensor:
    """Call the module of an encoder on a view as a plain graph, for an output of so many rows."""
    if data.get("propagation") is not None:
        name = type(encoder.module).__name__
        raise InputError(f"The diffusion of a graph cannot be given to {name}: take an encoder of sfa.nn.")
    with _seeded(encoder.module, generator):
        return _checked(encoder, call(encoder.module, materialize(data)), *rows)


def _checked(encoder: Any, h: Any, *rows: int) -> Tensor:
    """Return the output of an encoder's module, which must be ``(n, width)`` for one of the given ``n``."""
    if not isinstance(h, Tensor) or h.dim() != 2 or len(h) not in rows or h.shape[1] != encoder.width:
        found = f"a tensor of shape {tuple(h.shape)}" if isinstance(h, Tensor) else type(h).__name__
        wanted = " or ".join(f"({count}, {encoder.width})" for count in dict.fromkeys(rows))
        name = type(encoder.module).__name__
        raise InputError(f"The encoder {name} must give a tensor of shape {wanted}, not {found}.")
    return h


def output_width(module: nn.Module, task: Task) -> int:
    """Return the width of a module's output: by a trial on zeros, else by its attributes."""
    failure = None
    for trial in _trials(module, task):
        try:
            with torch.no_grad(), torch.random.fork_rng(devices=[]):
                copied = copy.deepcopy(module).eval()  # a module may store its input: `cached` of GCNConv
                return int(call(copied, trial).shape[-1])
        except Exception as error:
            failure = error
    for name in ("width", "out_channels", "num_features", "out_features"):
        if isinstance(width := getattr(module, name, None), int) and width > 0:
            return width
    name = type(module).__name__
    raise InputError(f"The width of {name} is unknown: say it by sfa.nn.as_encoder(module, width=…).") from failure


def _input_width(module: nn.Module) -> int | None:
    """Return the number of features or channels that the first layer takes, if it says so."""
    widths = (getattr(part, name, 0) for part in module.modules() for name in ("in_channels", "in_features"))
    return next((width for width in widths if isinstance(width, int) and width > 0), None)


def _trials(module: nn.Module, task: Task) -> list[Any]:
    """Make small inputs of zeros for a module, of the dtype and on the device of its weights."""
    features = _input_width(module)
    if features is None:
        return []
    weight = next((p for p in module.parameters() if p.is_floating_point()), None)
    like = torch.empty(0) if weight is None or isinstance(weight, UninitializedParameter) else weight.detach()
    if task == "image":
        return [like.new_zeros(2, features, side, side) for side in (32, 224)]
    edges, batch = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3, dtype=torch.int64)
    graph = Data(x=like.new_zeros(3, features), edge_index=edges, batch=batch, ptr=torch.tensor([0, 3]))
    return [graph.to(like.device)]


@contextmanager
def _seeded(module: nn.Module, generator: torch.Generator | None) -> Iterator[None]:
    """Seed PyTorch's global randomness, from which dropout draws, by a generator, and restore it afterwards."""
    if generator is None or not module.training:
        yield
        return
    devices = [generator.device.index or 0] if generator.device.type == "cuda" else []
    seed = int(torch.randint(2**62, (), generator=generator, device=generator.device))
    with torch.random.fork_rng(devices=devices):
        torch.default_generator.manual_seed(seed)  # torch.manual_seed would reseed every GPU too
        if devices:
            torch.cuda.manual_seed(seed)
        yield
