"""What every method must do, whatever its loss: the spectral slot, plain embeddings, seeds, and learning."""

import inspect
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from sfa import registry
from sfa.data import as_graphs, build_graph, load
from sfa.errors import InputError
from sfa.graph.propagation import propagation_of
from sfa.levels import num_items
from sfa.methods import METHODS, Method, resolve
from sfa.methods.base import FeatureMaps
from sfa.recipes import Recipe
from sfa.seeding import step_generator
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap
from sfa.training import BatchPlan, train
from tests.methods.short_runs import SHORT_RUNS


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


class Recorder(SpectralMap):
    """A spectral map that doubles what it sees and remembers it."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Tensor] = []

    def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        self.seen.append(h)
        return 2 * h


def first_batch(graph: Data, recipe: Recipe) -> Data:
    """The batch of the first step, with the method's own sampler."""
    steps = BatchPlan(graph, recipe.make_sampler(), recipe.training.seed)
    return next(steps.parts(0, 0, steps.plan(0)[0])).batch


@pytest.fixture
def data(name: str, planted: Data, molecules: Data, pictures: Data) -> Data:
    """What the method embeds: a graph, a set of graphs, or images."""
    return {"node": planted, "graph": molecules, "image": pictures}[resolve(name).level]


def build(name: str, graph: Data, spectral: SpectralMap | None = None, **options: Any) -> Method:
    torch.manual_seed(0)
    cls: Any = resolve(name)
    size = graph.num_nodes if cls.transductive else graph.num_features
    built: Method = cls(size, **{**small(cls), **options}, spectral=spectral)
    return built


def small(cls: type[Method]) -> dict[str, Any]:
    """Options that make a method narrow: heads of images are wide as published."""
    narrow = {"hidden": 8, "head_hidden": 32, "head_width": 16, "prediction": 16, "prototypes": 12, "queue": 0}
    known = inspect.signature(cls).parameters if cls.level == "image" else ("hidden",)
    return {option: value for option, value in narrow.items() if option in known}


def short_recipe(name: str, spectral: str = "sfa", **changes: Any) -> Recipe:
    return Recipe.parse({"method": name, "spectral": spectral}).updated({**SHORT_RUNS[name], **changes})


@pytest.mark.parametrize("name", METHODS)
class TestEveryMethod:
    def test_the_spectral_map_sees_feature_maps_in_training_only(self, name: str, data: Data) -> None:
        recorder = Recorder()
        method = build(name, data, recorder)
        method(first_batch(data, Recipe.parse({"method": name})), seeded())
        assert recorder.seen
        assert {h.shape[1] for h in recorder.seen} == {method.embed(data).shape[1]}
        assert any(h.requires_grad for h in recorder.seen)
        count = len(recorder.seen)
        method.embed(data)
        assert len(recorder.seen) == count

    def test_the_loss_is_that_of_the_augmented_maps(self, name: str, data: Data) -> None:
        """Another map in the slot gives another loss; one that gives back what it is given, the same."""

        class Same(SpectralMap):
            def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
                return 1 * h

        class Other(SpectralMap):
            def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
                return h.tanh() + h.roll(1, dims=1)

        batch = first_batch(data, Recipe.parse({"method": name}))
        plain, same, other = (build(name, data, spectral)(batch, seeded(1)) for spectral in (None, Same(), Other()))
        assert torch.equal(plain, same)
        assert not torch.isclose(plain, other)

    def test_each_map_that_the_slot_gives_enters_the_loss(self, name: str, data: Data) -> None:
        class ChangesOne(SpectralMap):
            """Changes the map of one number alone, and counts them."""

            def __init__(self, number: int | None) -> None:
                super().__init__()
                self.number, self.count = number, 0

            def forward_all(self, *maps: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
                assert self.count == 0, "all maps of a step in one call"
                self.count = len(maps)
                return tuple(h.tanh() + h.roll(1, dims=1) if i == self.number else h for i, h in enumerate(maps))

        batch = first_batch(data, Recipe.parse({"method": name}))
        untouched = ChangesOne(None)
        plain = build(name, data, untouched)(batch, seeded(1))
        assert untouched.count >= 1
        for number in range(untouched.count):
            assert not torch.equal(build(name, data, ChangesOne(number))(batch, seeded(1)), plain), number

    def test_an_observer_sees_the_maps_of_the_step_and_changes_nothing(self, name: str, data: Data) -> None:
        batch = first_batch(data, Recipe.parse({"method": name}))
        recorder = Recorder()
        seen: list[FeatureMaps] = []
        loss = build(name, data, recorder)(batch, seeded(5), observe=seen.append)
        assert torch.equal(loss, build(name, data, Recorder())(batch, seeded(5)))
        (maps,) = seen
        pairs = [(maps.h_alpha, maps.h_tilde_alpha), (maps.h_beta, maps.h_tilde_beta)]
        shown = [(h, h_tilde) for h, h_tilde in pairs if h is not None and h_tilde is not None]
        assert shown
        for (h, h_tilde), recorded in zip(shown, recorder.seen, strict=False):
            assert torch.equal(h, recorded)
            assert torch.equal(h_tilde, 2 * recorded)
            assert not h.requires_grad
            assert not h_tilde.requires_grad
        loss.backward()

    def test_embeddings_are_plain_and_leave_the_mode_as_it_was(self, name: str, data: Data) -> None:
        method = build(name, data, SpectralFeatureAugmentation())
        expected = build(name, data).embed(data)
        assert expected.shape == ((60, 8) if method.level == "node" else (num_items(data), method.encoder.width))
        for mode in (True, False):
            method.train(mode)
            assert torch.equal(method.embed(data), expected)
            assert method.training is mode
            assert all(part.training is mode for part in method.modules())
        assert not method.embed(data).requires_grad

    def test_every_trained_parameter_gets_a_gradient(self, name: str, data: Data) -> None:
        method = build(name, data, SpectralFeatureAugmentation())
        method(first_batch(data, Recipe.parse({"method": name})), seeded()).backward()
        for key, parameter in method.named_parameters():
            if parameter.requires_grad:
                assert parameter.grad is not None, key
                assert parameter.grad.isfinite().all(), key
            else:
                assert parameter.grad is None, key

    def test_a_generator_decides_the_loss(self, name: str, data: Data) -> None:
        method = build(name, data, SpectralFeatureAugmentation())
        batch = first_batch(data, Recipe.parse({"method": name}))
        assert torch.equal(method(batch, seeded(1)), method(batch, seeded(1)))
        assert not torch.equal(method(batch, seeded(1)), method(batch, seeded(2)))

    def test_a_seed_reproduces_a_run_and_nothing_global_counts(self, name: str, data: Data) -> None:
        def states(seed: int, disturbance: int) -> Mapping[str, Tensor]:
            torch.manual_seed(disturbance)
            narrow = {f"method.{option}": value for option, value in small(resolve(name)).items()}
            changes = {"training.epochs": 3, "training.seed": seed, **narrow}
            recipe = Recipe.parse({"method": name}).updated(changes)
            method = recipe.build(data.num_features, data.num_nodes)
            train(method, recipe.prepare(data), **recipe.training.arguments, sampler=recipe.make_sampler())
            return method.state_dict()

        first, again, other = states(0, 1), states(0, 2), states(1, 1)
        assert all(torch.equal(first[key], again[key]) for key in first)
        assert not all(torch.equal(first[key], other[key]) for key in first)

    @pytest.mark.parametrize("spectral", ["none", "sfa"])
    def test_learns(self, name: str, spectral: str) -> None:
        levels = {"node": self.learns_cora, "graph": self.learns_mutag, "image": self.learns_digits}
        levels[resolve(name).level](name, spectral)

    def learns_digits(self, name: str, spectral: str) -> None:
        """A short run beats the untrained encoder."""
        digits = load("digits")
        recipe = short_recipe(name, spectral)
        method = recipe.build_for(digits)
        protocol = registry.resolve("protocol", "image-knn")
        before = protocol.evaluate(method.embed(digits), digits).mean()
        train(method, digits, **recipe.training.arguments, sampler=recipe.make_sampler(), device="cpu")
        after = protocol.evaluate(method.embed(digits), digits).mean()
        assert after > before

    def learns_mutag(self, name: str, spectral: str) -> None:
        """A short run lowers the loss clearly; by how much the embeddings gain is no matter of seconds."""
        mutag = load("mutag")
        recipe = short_recipe(name, spectral)
        method = recipe.build_for(mutag)

        def loss() -> float:
            with torch.no_grad():
                batch = first_batch(mutag, recipe)
                return sum(float(method(batch, step_generator(99, step))) for step in range(8)) / 8

        before = loss()
        train(method, mutag, **recipe.training.arguments, sampler=recipe.make_sampler(), device="cpu")
        assert loss() < before - 0.05 * abs(before)

    def learns_cora(self, name: str, spectral: str) -> None:
        """A short run beats the untrained encoder clearly."""
        cora = load("cora")
        recipe = short_recipe(name, spectral)
        method, prepared = recipe.build(cora.num_features, cora.num_nodes), recipe.prepare(cora)
        protocol = registry.resolve("protocol", "honest-10-10-80").with_splits(2)
        before = protocol.evaluate(method.embed(prepared), cora).mean()
        train(method, prepared, **recipe.training.arguments, sampler=recipe.make_sampler(), device="cpu")
        after = protocol.evaluate(method.embed(prepared), cora).mean()
        assert after > before + 5

    def test_options_of_the_wrong_kind_are_refused(self, name: str) -> None:
        for option in ("hidden", "no_such_option"):
            with pytest.raises(InputError, match=option):
                Recipe.parse({"method": {"name": name, option: -1}})

    def test_data_of_another_level_are_refused(self, name: str, planted: Data, molecules: Data, pictures: Data) -> None:
        levels = {"node": planted, "graph": molecules, "image": pictures}
        for other in (data for level, data in levels.items() if level != resolve(name).level):
            with pytest.raises(InputError, match=f"^{name} embeds .*, and {other.name} is .*; methods for that are "):
                Recipe.parse({"method": name}).build_for(other)

    def test_a_map_that_mixes_rows_is_taken_or_refused_in_a_sentence(self, name: str, data: Data) -> None:
        recipe = Recipe.parse({"method": {"name": name, **small(resolve(name))}, "spectral": "costa"})
        if resolve(name).rows_are_nodes:
            with pytest.raises(InputError, match=r"mixes the rows .* one row a (node|graph)"):
                recipe.build(data.num_features, data.num_nodes)
            return
        method = recipe.build(data.num_features, data.num_nodes)
        assert method(first_batch(data, recipe), step_generator(0, 0)).isfinite()


@pytest.mark.parametrize(
    "name", [name for name, method in METHODS.items() if method.level == "node" and not method.samplers]
)
def test_only_the_roots_of_a_batch_enter_the_feature_maps(name: str, data: Data) -> None:
    """The other nodes send messages, and are seen neither by the spectral map nor by the loss."""
    recorder = Recorder()
    data.roots = 12
    assert build(name, data, recorder)(data, seeded()).isfinite()
    assert {len(h) for h in recorder.seen} == {12}


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.level == "node"])
class TestEveryNodeMethod:
    def test_smooths_what_it_embeds_and_nothing_else(self, name: str, planted: Data) -> None:
        """Over the graph that is given, with its weights: not over what a method makes of it, as by diffusion."""
        weight = 1 + planted.edge_index.sum(0) % 3
        graph = build_graph(planted.x.numpy(), planted.edge_index.numpy(), edge_weight=weight.float().numpy())
        plain, smooth = (build(name, graph) for _ in range(2))
        assert (type(plain.smoothing), plain.smoothing) == (int, 0)
        smooth.smoothing = 3
        expected = torch.linalg.matrix_power(dense_adjacency(graph), 3) @ plain.embed(graph)
        torch.testing.assert_close(smooth.embed(graph), expected, rtol=1e-4, atol=1e-6)
        assert torch.equal(smooth.embeddings(graph), plain.embed(graph))
        assert not smooth.embed(graph).requires_grad
        assert smooth.state_dict().keys() == plain.state_dict().keys()
        batch = first_batch(graph, Recipe.parse({"method": name}))
        assert torch.equal(smooth(batch, seeded(1)), plain(batch, seeded(1)))

    def test_puts_features_beside_what_it_has_smoothed(self, name: str, planted: Data) -> None:
        plain, beside = (build(name, planted) for _ in range(2))
        assert plain.own_features == 0
        plain.without_leading = beside.without_leading = plain.smoothing = beside.smoothing = 1
        beside.own_features = 2.0
        z, found = plain.embed(planted), beside.embed(planted)
        torch.testing.assert_close(found[:, : z.shape[1]], torch.nn.functional.normalize(z))
        torch.testing.assert_close(found[:, z.shape[1] :], 2 * torch.nn.functional.normalize(planted.x))
        batch = first_batch(planted, Recipe.parse({"method": name}))
        assert torch.equal(beside(batch, seeded(1)), plain(batch, seeded(1)))

    def test_takes_leading_directions_out_before_it_smooths(self, name: str, planted: Data) -> None:
        plain, without = (build(name, planted) for _ in range(2))
        assert plain.without_leading == 0
        without.without_leading, without.smoothing = 1, 1
        u, sigma, v = torch.linalg.svd(plain.embed(planted).double(), full_matrices=False)
        expected = propagation_of(planted, torch.float64) @ (u[:, 1:] * sigma[1:] @ v[1:])
        torch.testing.assert_close(without.embed(planted).double(), expected, rtol=0, atol=1e-4 * float(sigma[0]))
        batch = first_batch(planted, Recipe.parse({"method": name}))
        assert torch.equal(without(batch, seeded(1)), plain(batch, seeded(1)))

    def test_a_recipe_says_how(self, name: str, planted: Data) -> None:
        recipe = Recipe.parse({"method": {"name": name, **small(resolve(name))}, "smoothing": 2, "own_features": 0.5})
        assert recipe.updated({"without_leading": 3}).build_for(planted).without_leading == 3
        assert recipe.build_for(planted).smoothing == 2
        assert recipe.build_for(planted).own_features == 0.5
        assert recipe.updated({"smoothing": 0}).build_for(planted).smoothing == 0


def dense_adjacency(graph: Data) -> Tensor:
    a = torch.eye(graph.num_nodes)
    a[tuple(graph.edge_index)] = graph.edge_weight
    scale = a.sum(1).rsqrt()
    return scale[:, None] * a * scale


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.level == "graph"])
class TestEveryGraphMethod:
    def test_takes_the_batches_of_torch_geometrics_loader(self, name: str, molecule_list: list[Data]) -> None:
        """In a loop of one's own: the same loss, whatever the order in which the edges are given."""
        for batch in DataLoader(molecule_list, batch_size=16):
            order = torch.randperm(batch.num_edges, generator=seeded(7))
            given, tidy = batch.clone(), as_graphs(batch)
            given.edge_index = batch.edge_index[:, order]
            losses = [build(name, tidy)(graphs, seeded(3)) for graphs in (tidy, given)]
            torch.testing.assert_close(losses[0], losses[1])
            losses[1].backward()

    def test_graphs_without_edges_or_nodes_do_no_harm(self, name: str, molecule_list: list[Data]) -> None:
        none = torch.empty((2, 0), dtype=torch.int64)
        odd = [Data(x=torch.eye(4)[:count], edge_index=none, y=torch.zeros(1)) for count in (3, 1, 0)]
        batch = Batch.from_data_list([*molecule_list[:5], *odd])
        method = build(name, batch, SpectralFeatureAugmentation())
        for seed in range(5):
            loss = method(batch, seeded(seed))
            loss.backward()
            assert loss.isfinite()
        for key, parameter in method.named_parameters():
            assert parameter.grad is None or parameter.grad.isfinite().all(), key
        assert method.embed(batch).isfinite().all()


def test_unknown_method_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'grace'"):
        resolve("grcae")
