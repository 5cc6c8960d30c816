"""DeepWalk and node2vec: their loss pair by pair, and the one graph whose nodes they know."""

from __future__ import annotations

import copy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.data import build_graph
from sfa.errors import InputError
from sfa.estimators import NodeEmbedder
from sfa.graph.walks import Transitions
from sfa.methods import DeepWalk, Node2Vec, deepwalk
from sfa.run import Recipe
from sfa.sampling import Clusters, Neighbors, WholeGraph
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap
from sfa.train import RunFolder, load_tensors, train
from tests.callbacks import on_epoch

SHORT_RUN: dict[str, Any] = {
    "method.hidden": 32,
    "method.length": 20,
    "method.window": 5,
    "training.lr": 0.03,
    "training.epochs": 2,
}
SMALL: dict[str, Any] = {"hidden": 6, "length": 9, "window": 3, "negatives": 2}
both = pytest.mark.parametrize(
    ("name", "method_class", "options"),
    [("deepwalk", DeepWalk, {}), ("node2vec", Node2Vec, {"p": 0.5, "q": 2.0})],
    ids=["deepwalk", "node2vec"],
)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def build(method_class: type[DeepWalk], nodes: int, **options: Any) -> DeepWalk:
    """With tables of the size that training gives them, on which losses differ clearly."""
    torch.manual_seed(0)
    method = method_class(nodes, **{**SMALL, **options})
    with torch.no_grad():
        method.centre.normal_(generator=seeded(1))
        method.context.normal_(generator=seeded(2))
    return method


def batch_of(graph: Data, seeds: list[int]) -> Data:
    batch = copy.copy(graph)
    batch.seeds = torch.tensor(seeds)
    return batch


@both
def test_the_loss_is_skip_gram_with_negative_sampling_over_the_walks(
    monkeypatch: pytest.MonkeyPatch, planted: Data, name: str, method_class: type[DeepWalk], options: dict[str, float]
) -> None:
    method = build(method_class, 60, **options)
    drawn: list[Tensor] = []
    draw_nodes = deepwalk.draw_nodes

    def remembered(*arguments: Any) -> Tensor:
        drawn.append(draw_nodes(*arguments))
        return drawn[0]

    monkeypatch.setattr(deepwalk, "draw_nodes", remembered)
    seeds = [5, 17, 59]
    loss = method(batch_of(planted, seeds), seeded(3))

    walks = method.walks(Transitions.of(planted), torch.tensor(seeds), seeded(3))
    assert walks.shape == (9, 3)
    terms = []
    for walk, noise in zip(walks.T.tolist(), drawn[0].tolist(), strict=True):
        for i, centre in enumerate(walk):
            for j, context in enumerate(walk):
                if 0 < abs(i - j) <= 3:
                    v = method.centre[centre]
                    attraction = torch.sigmoid(method.context[context] @ v).log()
                    repulsion = torch.sigmoid(-method.context[noise] @ v).log().mean()
                    terms.append(attraction + 2 * repulsion)
    torch.testing.assert_close(loss, -torch.stack(terms).mean())


@pytest.mark.parametrize("weighted", [False, True])
def test_negatives_come_from_degrees_to_the_power_three_quarters(
    monkeypatch: pytest.MonkeyPatch, weighted: bool
) -> None:
    edges, weight = np.array([[0, 0, 0, 1], [1, 2, 3, 2]]), np.array([1.0, 2.0, 3.0, 4.0])
    graph = build_graph(np.eye(5), edges, edge_weight=weight if weighted else None)
    seen: list[Tensor] = []
    draw_nodes = deepwalk.draw_nodes

    def spy(weight: Tensor, *rest: Any) -> Tensor:
        seen.append(weight)
        return draw_nodes(weight, *rest)

    monkeypatch.setattr(deepwalk, "draw_nodes", spy)
    assert build(DeepWalk, 5)(graph, seeded()).isfinite()
    degrees = [6.0, 5.0, 6.0, 3.0, 0.0] if weighted else [3.0, 2.0, 2.0, 1.0, 0.0]
    assert seen[0].tolist() == pytest.approx([degree**0.75 for degree in degrees])


@both
def test_the_spectral_map_sees_the_centre_of_every_visited_node_once(
    planted: Data, name: str, method_class: type[DeepWalk], options: dict[str, float]
) -> None:
    seen: list[Tensor] = []

    class Recorder(SpectralMap):
        def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
            seen.append(h)
            return h

    method = build(method_class, 60, spectral=Recorder(), **options)
    method(batch_of(planted, [5, 17]), seeded(3))
    visited = method.walks(Transitions.of(planted), torch.tensor([5, 17]), seeded(3)).unique()
    assert len(visited) < 18
    torch.testing.assert_close(seen[0], method.centre[visited])
    assert len(seen) == 1


@both
def test_sfa_in_the_slot_changes_the_loss_and_leaves_the_embeddings_plain(
    planted: Data, name: str, method_class: type[DeepWalk], options: dict[str, float]
) -> None:
    plain, augmented = (
        build(method_class, 60, spectral=spectral, **options) for spectral in (None, SpectralFeatureAugmentation())
    )
    batch = batch_of(planted, list(range(30)))
    assert not torch.isclose(plain(batch, seeded()), augmented(batch, seeded()), rtol=1e-3)
    for method in (plain, augmented):
        assert torch.equal(method.embed(planted), method.centre)
        assert not method.embed(planted).requires_grad
    embeddings = plain.embed(planted)
    embeddings.zero_()
    assert plain.centre.any()  # what is given out is a copy


def test_walks_start_from_all_nodes_if_a_batch_names_none(planted: Data) -> None:
    method = build(DeepWalk, 60)
    assert torch.equal(method(planted, seeded()), method(batch_of(planted, list(range(60))), seeded()))


def test_edge_weights_steer_the_walks() -> None:
    edges = np.array([[0, 0, 1], [1, 2, 2]])
    graph = build_graph(np.eye(3), edges, edge_weight=np.array([1.0, 1e9, 1.0]))
    walks = build(DeepWalk, 3).walks(Transitions.of(graph), torch.zeros(100, dtype=torch.int64), seeded())
    assert (walks != 1).all()


def test_a_node_alone_has_an_embedding_and_a_graph_without_edges_is_refused() -> None:
    graph = build_graph(np.eye(4), np.array([[0], [1]]))
    assert build(DeepWalk, 4)(batch_of(graph, [3, 2]), seeded()).isfinite()
    empty = Data(x=torch.eye(4), edge_index=torch.empty(2, 0, dtype=torch.int64))
    with pytest.raises(InputError, match="without edges"):
        build(DeepWalk, 4)(empty, seeded())


class TestTheOneGraph:
    others = pytest.mark.parametrize("change", ["edges", "weights", "nodes"])

    def changed(self, graph: Data, change: str) -> Data:
        other = copy.copy(graph)
        if change == "edges":
            keep = (graph.edge_index != graph.edge_index[0, -1]).all(0)
            other.edge_index = graph.edge_index[:, keep]
        elif change == "weights":
            other.edge_weight = torch.full((graph.edge_index.shape[1],), 2.0)
        else:
            other = Data(x=torch.cat([graph.x, graph.x[:1]]), edge_index=graph.edge_index)
        return other

    @both
    @others
    def test_another_is_refused_in_training_and_embedding(
        self, planted: Data, name: str, method_class: type[DeepWalk], options: dict[str, float], change: str
    ) -> None:
        method = build(method_class, 60, **options)
        method(planted, seeded())
        other = self.changed(planted, change)
        for use in (method, method.embed):
            with pytest.raises(
                InputError, match=f"{method_class.__name__} has learned the nodes of one graph .* another"
            ):
                use(other)
        method.embed(planted)

    def test_the_same_in_new_tensors_or_with_other_features_is_taken(self, planted: Data) -> None:
        method = build(DeepWalk, 60)
        method(planted, seeded())
        first = method.embed(planted)
        again = planted.clone()
        again.x = again.x * 2
        assert torch.equal(method.embed(again), first)

    def test_untrained_it_is_bound_to_none_of_its_size(self, planted: Data) -> None:
        method = build(DeepWalk, 60)
        other = self.changed(planted, "edges")
        assert torch.equal(method.embed(planted), method.embed(other))
        assert method(other, seeded()).isfinite()
        with pytest.raises(InputError, match="this is another"):
            method.embed(planted)
        with pytest.raises(InputError, match="this is another"):
            build(DeepWalk, 60).embed(self.changed(planted, "nodes"))

    def test_weights_that_are_loaded_know_their_graph(self, planted: Data) -> None:
        trained, loaded = build(DeepWalk, 60), build(DeepWalk, 60)
        trained(planted, seeded())
        loaded.load_state_dict(trained.state_dict())
        assert torch.equal(loaded.embed(planted), trained.embed(planted))
        with pytest.raises(InputError, match="this is another"):
            loaded.embed(self.changed(planted, "edges"))

    def test_a_saved_embedder_knows_its_graph(self, planted: Data, tmp_path: Path) -> None:
        options = {f"method.{key}": value for key, value in SMALL.items()}
        embedder = NodeEmbedder("deepwalk", epochs=1, options=options, random_state=0, device="cpu").fit(planted)
        embedder.save(tmp_path / "embedder.safetensors")
        loaded = NodeEmbedder.load(tmp_path / "embedder.safetensors")
        np.testing.assert_array_equal(loaded.transform(planted), embedder.embedding_)
        for change in ("edges", "nodes"):
            with pytest.raises(InputError, match="this is another"):
                loaded.transform(self.changed(planted, change))

    @pytest.mark.parametrize("sampler", [Neighbors, partial(Clusters, clusters=4), WholeGraph])
    def test_a_batch_cut_out_of_it_is_refused(self, planted: Data, sampler: Any) -> None:
        method = build(DeepWalk, 60)
        method(planted, seeded())
        batch = sampler(planted).batch(torch.tensor([1]), seeded())
        with pytest.raises(InputError, match="a batch cut out of it"):
            method(batch, seeded())


@both
@pytest.mark.parametrize("sampler", ["whole", "neighbours", "random-walks", "clusters"])
def test_a_recipe_with_another_sampler_is_refused(
    name: str, method_class: type[DeepWalk], options: dict[str, float], sampler: str
) -> None:
    with pytest.raises(InputError, match=f"{name} works with the sampler starts, not with {sampler}"):
        Recipe.parse({"method": name, "sampler": sampler})


@both
def test_its_recipe_is_the_authors(name: str, method_class: type[DeepWalk], options: dict[str, float]) -> None:
    recipe = Recipe.parse({"method": name})
    assert recipe.sampler["name"] == "starts"
    assert (recipe.method["hidden"], recipe.method["length"], recipe.method["window"]) == (128, 80, 10)
    assert recipe.training.epochs == 10
    assert recipe.training.patience is None


@both
def test_a_crash_and_a_resume_give_the_same_bits(
    planted: Data, tmp_path: Path, name: str, method_class: type[DeepWalk], options: dict[str, float]
) -> None:
    changes = {f"method.{key}": value for key, value in {**SMALL, **options}.items()}
    recipe = Recipe.parse({"method": name}).updated(
        {**changes, "training.epochs": 5, "sampler.batch_size": 20, "training.checkpoint_every": 2}
    )

    def go(folder: RunFolder, **more: Any) -> None:
        method = recipe.build(planted.num_features, planted.num_nodes)
        train(
            method,
            planted,
            **recipe.training.arguments,
            sampler=recipe.make_sampler(),
            folder=folder,
            device="cpu",
            **more,
        )

    def crash(metrics: dict[str, Any]) -> None:
        if metrics["epoch"] == 4:
            raise KeyError

    whole, broken = (RunFolder.create(tmp_path / part, {}, {}) for part in ("whole", "broken"))
    go(whole)
    with pytest.raises(KeyError):
        go(broken, callbacks=[on_epoch(crash)])
    go(broken, resume=True)
    (tensors, meta), (others, other_meta) = load_tensors(whole.checkpoint), load_tensors(broken.checkpoint)
    assert meta == other_meta
    assert tensors["model.graph_digest"].any()
    assert tensors.keys() == others.keys()
    assert all(torch.equal(tensors[key], others[key]) for key in tensors)


@pytest.mark.parametrize(("option", "wrong"), [("hidden", 0), ("length", 1), ("window", 0), ("negatives", 0)])
def test_options_out_of_range_are_refused(option: str, wrong: float) -> None:
    with pytest.raises(InputError, match=option):
        DeepWalk(5, **{option: wrong})  # type: ignore[arg-type]
