"""Neighbor contrast: an MLP that learns from nearby nodes, beside an embedding that needs no training."""

import copy
from collections.abc import Iterator
from typing import Literal

import torch
from scipy.stats import mannwhitneyu
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa import distributed
from sfa.graph.structure import is_stored, take_rows
from sfa.graph.walks import Transitions, draw_distinct, draw_uniform
from sfa.losses import normalized_jensen_shannon
from sfa.matrices import singular_directions, unit_rows
from sfa.methods.base import Method, Observer, Spectral
from sfa.methods.propagate import Propagate, page_rank
from sfa.methods.signa import SIGNA
from sfa.methods.stored import SideBySide, encoded_spread
from sfa.modes import full_precision, has_fast_bfloat16
from sfa.nn.heads import projection_head
from sfa.nn.sparse import propagation_of
from sfa.postprocess import propagate
from sfa.ranges import FewCount, FewNatural, NonNegative, Share, Width
from sfa.registry import register
from sfa.seeding import generator_on

PAIRS = 20_000
"""Pairs of nodes, at most, whose features are compared to learn whether nearby nodes are alike."""
ENTRIES = 50_000_000
"""Numbers, at most, that these features are."""
SAMPLE = 50_000
"""Rows, at most, that the leading directions of the embeddings are computed from."""
SIGNIFICANT = 1e-3
"""Level of the test whether nearby nodes are alike."""


@register("method", "neighbor-contrast")
class NeighborContrast(Method):
    r"""Contrast each node with nodes nearby; embed by the trained encoder and, beside it, without training.

    The default for the nodes of a graph. Nobody has published exactly this. Training is a variant of :class:`SIGNA`
    (Sun et al., 2025): a batch of nodes, for each of them one positive, which is the node itself under other dropout or
    the end of a short random walk, the other nodes as negatives, and SIGNA's loss. The encoder is an MLP on features
    that are weighted as in :class:`Propagate`, so a step costs the same in any graph. With its output :math:`Z`, the
    embedding :math:`P` of :class:`Propagate`, and each block with unit rows, the embedding is

    .. math::
        [Z,\; \hat A Z,\; \dots,\; \hat A^h Z,\; \mathrm{PPR}_\alpha Z,\; w P] \; V

    where :math:`V` are the leading right singular vectors of the blocks side by side. They are computed after training
    and kept, so that other graphs with the same features can be embedded.

    Before training, features of nodes at the ends of walks of one and of two steps are compared with those of random
    nodes. If neighbors are not alike but nodes two steps apart are, as in a heterophilous graph, the latter are the
    positives; if neither are, a node's only positive is itself. :meth:`remarks` says so.

    Args:
        encoder: Any encoder; one that does not use edges sees only the nodes of a batch.
        in_features: Number of features.
        hidden: Width of the embeddings.
        mask: Probability that the positive of a node is the node itself.
        walk: Steps of the random walk to the positive, at most: one, and each further with probability 1/2.
        projection: Inner width of the projector.
        hops: Number of propagated outputs of the encoder.
        alpha: Chance that PageRank restarts at a step; without that block if 0.
        weight: Weight :math:`w` of the embedding without training; 0 leaves it out. By default it is 1, and 4 where
            there are more features than a quarter of the nodes, which the encoder learns by heart.
        precision: ``auto`` runs encoder and projector in bfloat16 where the device is fast at it, ``full`` in float32.
    """

    chance = 1.386294  # 2 log 2
    defaults = {
        "encoder": SIGNA.defaults["encoder"],
        "spectral": "none",
        "sampler": {"name": "random-nodes", "batch_size": 1024, "steps": 30},
        "training": {"epochs": 80, "optimizer": "adamw", "lr": 1e-3, "weight_decay": 0.0, "patience": None},
        "feature_norm": "none",
    }
    published = False
    weights_features = True
    samplers = ("random-nodes", "starts")
    spans_processes = True
    embeds_stores = True
    saves_memory = Propagate.saves_memory
    reach: Tensor
    is_wide: Tensor
    directions: Tensor

    def __init__(
        self,
        encoder: nn.Module,
        in_features: int,
        *,
        hidden: Width = 512,
        mask: Share = 0.5,
        walk: FewCount = 3,
        projection: Width = 256,
        hops: FewNatural = 2,
        alpha: Share = 0.1,
        weight: NonNegative | None = None,
        precision: Literal["auto", "full"] = "auto",
        spectral: Spectral = None,
    ) -> None:
        super().__init__(encoder, spectral=spectral)
        self.head = projection_head(self.width, projection)
        self.closed_form = Propagate(in_features, hidden=hidden, alpha=alpha)
        total = (hops + 1 + (alpha > 0)) * self.width + hidden
        self.mask, self.walk, self.hops, self.alpha, self.weight, self.width = mask, walk, hops, alpha, weight, hidden
        self.precision = precision
        self.register_buffer("reach", torch.tensor(1))  # steps that a walk to a positive takes in any case
        self.register_buffer("is_wide", torch.tensor(False))  # whether there are many features for so few nodes
        self.register_buffer("directions", torch.zeros(total, hidden))

    def memory(self, batch: Data) -> float:
        """Estimate the bytes of the embedding without training, which outweighs a step."""
        needs_all = is_stored(batch) and not self.embeds_from_disk(batch)
        return super().memory(batch) if needs_all else self.closed_form.memory(batch)

    @torch.no_grad()
    def before_training(self, data: Data) -> None:
        """Weigh the features, fit the embedding without training, and find out which nodes are alike."""
        self.closed_form.before_training(data)
        alike = (steps for steps in (1, 2) if self.are_alike(data, steps))
        self.reach.fill_(next(alike, 0))
        self.is_wide.fill_(4 * data.num_features > data.num_nodes)

    def are_alike(self, data: Data, steps: int) -> bool:
        """Test whether nodes some steps apart have features that are more alike than those of random nodes."""
        device, count = data.x.device, min(PAIRS, ENTRIES // data.num_features + 1)
        generator = torch.Generator(device).manual_seed(steps)
        start = torch.randint(data.num_nodes, (count,), generator=generator, device=device)
        end, transitions = start, Transitions.of(data)
        for _ in range(steps):
            end = transitions.step(end, generator)
        start, end = start[start != end], end[start != end]
        if len(start) < 2:
            return False
        found = (take_rows(data.x, rows).to(self.directions.device) for rows in (start, end))
        x, other = (unit_rows(self.closed_form.weigh(some).to_dense()) for some in found)
        near, far = torch.linalg.vecdot(x, other), torch.linalg.vecdot(x, other.roll(1, 0))
        return bool(mannwhitneyu(near.cpu(), far.cpu(), alternative="greater").pvalue < SIGNIFICANT)

    def describe_weights(self, data: Data) -> str:
        """Say how features are weighted."""
        return self.closed_form.describe_weights(data)

    def remarks(self) -> list[str]:
        """Say what was found out about the graph if it is not the usual."""
        about_graph = {
            2: "Neighbors differ in their features, and nodes two steps apart are alike: those are the positives.",
            0: "Neighbors are no more alike in their features than random nodes, so edges play no part in training. "
            "Compare the scores with those of raw features: this graph may not help.",
        }
        found = about_graph.get(int(self.reach))
        return [found] if found else []

    def positives(self, data: Data, seeds: Tensor, generator: torch.Generator | None) -> Tensor:
        """Draw a positive for each of the nodes ``(k,)``."""
        end, reach, transitions = seeds, int(self.reach), Transitions.of(data)
        for step in range(self.walk if reach == 1 else reach):
            onward = transitions.step(end, generator)
            end = onward if step < reach else torch.where(draw_uniform(end, generator) < 0.5, onward, end)
        return torch.where(draw_uniform(seeds, generator) < self.mask, seeds, end)

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        seeds = data.seeds if "seeds" in data else torch.arange(data.num_nodes, device=data.x.device)
        device, home = self.directions.device, data.x.device  # a stored graph is not on the GPU
        rows = torch.cat([seeds, self.positives(data, seeds, generator_on(home, generator))])
        is_given = torch.is_autocast_enabled(device.type)
        dtype = torch.get_autocast_dtype(device.type) if is_given else torch.bfloat16
        is_faster = self.precision == "auto" and has_fast_bfloat16(device)
        with torch.autocast(device.type, dtype, enabled=is_given or is_faster):
            if getattr(self.encoder, "uses_edges", True):
                h = self.encoder(self.weighted(data), generator)[rows]
            else:
                h = self.encoder(Data(x=self.closed_form.weigh(take_rows(data.x, rows).to(device))), generator)
            h_alpha, h_beta = self.apply_spectral(*h.split(len(seeds)), generator=generator, observe=observe)
            with full_precision(self.head(h_alpha), self.head(h_beta)) as (z_alpha, z_beta):
                return normalized_jensen_shannon(z_alpha, z_beta, across_processes=self.across_processes)

    def weighted(self, data: Data) -> Data:
        """Return the graph with weighted features."""
        return copy.copy(data).update({"x": self.closed_form.weigh(data.x)})

    def blocks(self, data: Data) -> Iterator[Tensor]:
        """Yield the parts of the embeddings ``(n, ·)``, one after another, before they are reduced."""
        z: Tensor = self.encoder.embed(self.weighted(data))
        adjacency, spread = propagation_of(data, z.dtype), z
        yield unit_rows(z)
        for _ in range(self.hops):
            spread = propagate(spread, adjacency)
            yield unit_rows(spread)
        if self.alpha > 0:
            yield unit_rows(page_rank(z, adjacency, self.alpha))
        yield self.closed_form_weight * unit_rows(self.closed_form.embeddings(data))

    @property
    def closed_form_weight(self) -> float:
        """Weight of the embedding without training."""
        return self.weight if self.weight is not None else 4 if self.is_wide else 1

    def stored_blocks(self, data: Data) -> SideBySide:
        """Return the same parts of a stored graph, which lie on disk."""
        closed_form, projection = self.closed_form.stored_blocks(data), self.closed_form.projection.cpu()
        parts = encoded_spread(self.encoder, data, self.closed_form.weigh, hops=self.hops, alpha=self.alpha)
        blocks = [*(one.rows for one in parts), lambda rows: closed_form.rows(rows) @ projection]
        return SideBySide(len(data.x), blocks, self.closed_form_weight)

    def leading_directions(self, data: Data) -> Tensor:
        """Compute the leading right singular vectors of all blocks side by side, from some rows of a large graph."""
        generator = torch.Generator().manual_seed(0)
        if self.embeds_from_disk(data):
            rows = draw_distinct(data.num_nodes, min(SAMPLE, data.num_nodes), generator).sort().values
            return self.stored_blocks(data).directions(rows)[1][:, : self.width].to(self.directions)
        rows = torch.randperm(data.num_nodes, generator=generator)[:SAMPLE]
        rows = rows.to(self.directions.device)
        table = torch.cat([block[rows] for block in self.blocks(data)], dim=1)
        return singular_directions(table)[1][:, : self.width].to(self.directions)

    @torch.no_grad()
    def after_training(self, data: Data) -> None:
        """Find the leading directions of the embeddings; where several processes train, the first does it for all."""
        if distributed.rank() == 0:
            self.directions.copy_(self.leading_directions(data))
        self.directions.copy_(distributed.broadcast(self.directions))

    @torch.no_grad()
    def embeddings(self, data: Data) -> Tensor:
        """Compute ``(n, hidden)``."""
        is_trained = bool(self.directions.any())
        if not is_trained and self.closed_form.choose_weighting(data) == "standard":
            self.closed_form.find_weights(data)  # so that an untrained encoder sees measurements as a trained one does
        # Else the directions are those of the data at hand.
        directions = self.directions if is_trained else self.leading_directions(data)
        if self.embeds_from_disk(data):
            return self.stored_blocks(data) @ directions
        z, first = directions.new_zeros(data.num_nodes, self.width), 0
        for block in self.blocks(data):
            z.addmm_(block, directions[first : first + block.shape[1]])
            first += block.shape[1]
        return z
