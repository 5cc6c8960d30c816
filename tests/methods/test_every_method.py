"""What every method must do, whatever its loss: the spectral slot, plain embeddings, seeds, and learning.

A new method in the registry is tested here without more ado; see :mod:`tests.methods.conformance`.
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

import sfa.methods
from sfa import registry
from sfa.data import as_graphs, build_graph, load
from sfa.errors import InputError
from sfa.methods import GRACE, available_methods
from sfa.methods.base import FeatureMaps
from sfa.postprocess import ConcatFeatures, Propagate, RemoveTopPCs
from sfa.run import Recipe
from sfa.seeding import step_generator
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap
from sfa.tasks import num_items
from sfa.train import train
from tests.methods.conformance import (
    build,
    built_in,
    first_batch,
    narrow_recipe,
    require_own_tests,
    seeded,
    short_recipe,
)
from tests.parts import replace_part

METHODS = built_in()


class Recorder(SpectralMap):
    """A spectral map that doubles what it sees and remembers it."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Tensor] = []

    def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        self.seen.append(h)
        return 2 * h


@pytest.fixture
def data(name: str, planted: Data, molecules: Data, pictures: Data) -> Data:
    """What the method embeds: a graph, a set of graphs, or images."""
    return {"node": planted, "graph": molecules, "image": pictures}[METHODS[name].task]


@pytest.mark.parametrize("name", METHODS)
def test_its_loss_is_tested_in_its_own_tests(name: str) -> None:
    require_own_tests(METHODS[name])


@pytest.mark.parametrize("name", METHODS)
def test_the_docstring_names_the_paper(name: str) -> None:
    """``From "Title" <link> (authors, year)``; a method that nobody has published says that."""
    text = METHODS[name].__doc__ or ""
    if not METHODS[name].published:
        assert "Nobody has published" in text
        return
    named = re.search(r'^ *From [`"]', text, re.MULTILINE)
    assert named or "Nobody has published" in text, (
        f'Name the paper of {METHODS[name].__name__} in its docstring, in a line that begins: From `"Title" <link>`_'
    )


@pytest.mark.parametrize("name", METHODS)
class TestEveryMethod:
    def test_the_spectral_map_sees_feature_maps_in_training_only(self, name: str, data: Data) -> None:
        recorder = Recorder()
        method = build(name, data, recorder)
        method(first_batch(data, narrow_recipe(name)), seeded())
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
                return h.tanh() + h.roll(1, dims=1) + 1

        batch = first_batch(data, narrow_recipe(name))
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

        batch = first_batch(data, narrow_recipe(name))
        untouched = ChangesOne(None)
        plain = build(name, data, untouched)(batch, seeded(1))
        assert untouched.count >= 1
        for number in range(untouched.count):
            assert not torch.equal(build(name, data, ChangesOne(number))(batch, seeded(1)), plain), number

    def test_an_observer_sees_the_maps_of_the_step_and_changes_nothing(self, name: str, data: Data) -> None:
        batch = first_batch(data, narrow_recipe(name))
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
        assert expected.shape == (num_items(data), method.width)
        for mode in (True, False):
            method.train(mode)
            assert torch.equal(method.embed(data), expected)
            assert method.training is mode
            assert all(part.training is mode for part in method.modules())
        assert not method.embed(data).requires_grad

    def test_every_trained_parameter_gets_a_gradient(self, name: str, data: Data) -> None:
        method = build(name, data, SpectralFeatureAugmentation())
        method(first_batch(data, narrow_recipe(name)), seeded()).backward()
        for key, parameter in method.named_parameters():
            if parameter.requires_grad:
                assert parameter.grad is not None, key
                assert parameter.grad.isfinite().all(), key
            else:
                assert parameter.grad is None, key

    def test_a_generator_decides_the_loss(self, name: str, data: Data) -> None:
        method = build(name, data, SpectralFeatureAugmentation())
        batch = first_batch(data, narrow_recipe(name))
        assert torch.equal(method(batch, seeded(1)), method(batch, seeded(1)))
        assert not torch.equal(method(batch, seeded(1)), method(batch, seeded(2)))

    @pytest.mark.slow
    def test_a_seed_reproduces_a_run_and_nothing_global_counts(self, name: str, data: Data) -> None:
        def states(seed: int, disturbance: int) -> Mapping[str, Tensor]:
            torch.manual_seed(disturbance)
            recipe = narrow_recipe(name, spectral={}).updated({"training.epochs": 3, "training.seed": seed})
            method = recipe.build(data.num_features, data.num_nodes)
            train(method, recipe.prepare(data), **recipe.training.arguments, sampler=recipe.make_sampler())
            return method.state_dict()

        first, again, other = states(0, 1), states(0, 2), states(1, 1)
        assert all(torch.equal(first[key], again[key]) for key in first)
        assert not all(torch.equal(first[key], other[key]) for key in first)

    @pytest.mark.slow
    @pytest.mark.parametrize("spectral", ["none", "sfa"])
    def test_learns(self, name: str, spectral: str) -> None:
        tasks = {"node": self.learns_cora, "graph": self.learns_mutag, "image": self.learns_digits}
        tasks[METHODS[name].task](name, spectral)

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
        wide = "method" if METHODS[name].transductive else "encoder"
        for path in ("method.no_such_option", f"{wide}.no_such_option", f"{wide}.hidden"):
            with pytest.raises(InputError, match=path.partition(".")[2]):
                Recipe.parse({"method": name}).updated({path: -1})

    def test_data_of_another_level_are_refused(self, name: str, planted: Data, molecules: Data, pictures: Data) -> None:
        tasks = {"node": planted, "graph": molecules, "image": pictures}
        for other in (data for task, data in tasks.items() if task != METHODS[name].task):
            with pytest.raises(InputError, match=f"^{name} embeds .*, and {other.name} is .*; methods for that are "):
                Recipe.parse({"method": name}).build_for(other)

    def test_a_map_that_mixes_rows_is_taken_or_refused_in_a_sentence(self, name: str, data: Data) -> None:
        recipe = narrow_recipe(name, spectral="costa")
        if METHODS[name].requires_row_identity:
            with pytest.raises(InputError, match="mixes the rows"):
                recipe.build(data.num_features, data.num_nodes)
            return
        method = recipe.build(data.num_features, data.num_nodes)
        assert method(first_batch(data, recipe), step_generator(0, 0)).isfinite()


@pytest.mark.parametrize("name", [name for name, method in built_in("node").items() if not method.samplers])
def test_only_the_roots_of_a_batch_enter_the_feature_maps(name: str, data: Data) -> None:
    """The other nodes send messages, and are seen neither by the spectral map nor by the loss."""
    recorder = Recorder()
    data.roots = 12
    assert build(name, data, recorder)(data, seeded()).isfinite()
    assert {len(h) for h in recorder.seen} == {12}


class TestPostprocess:
    """Steps that embeddings go through, in order; what each of them does is tested in tests/test_postprocess.py."""

    def test_there_is_none_unless_it_is_asked_for(self, planted: Data) -> None:
        method = build("grace", planted)
        assert list(method.postprocess) == []
        assert torch.equal(method.embed(planted), method.embeddings(planted))

    # MVGRL embeds the diffusion of the graph too, over which nothing may be spread.
    @pytest.mark.parametrize("name", ["grace", "mvgrl"])
    def test_steps_are_applied_in_order_to_embeddings_of_the_given_graph(self, name: str, planted: Data) -> None:
        weight = 1 + planted.edge_index.sum(0) % 3
        graph = build_graph(planted.x.numpy(), planted.edge_index.numpy(), edge_weight=weight.float().numpy())
        plain, stepped = (build(name, graph) for _ in range(2))
        stepped.postprocess = [RemoveTopPCs(1), Propagate(2), ConcatFeatures(0.5)]
        z = plain.embed(graph).double()
        u, sigma, v = torch.linalg.svd(z, full_matrices=False)
        z = torch.linalg.matrix_power(dense_adjacency(graph), 2) @ (u[:, 1:] * sigma[1:] @ v[1:])
        beside = 0.5 * torch.nn.functional.normalize(graph.x.double())
        expected = torch.cat([torch.nn.functional.normalize(z), beside], dim=1)
        torch.testing.assert_close(stepped.embed(graph).double(), expected, rtol=0, atol=1e-3)
        stepped.postprocess = [Propagate(2), RemoveTopPCs(1), ConcatFeatures(0.5)]
        assert not torch.allclose(stepped.embed(graph).double(), expected, atol=1e-3)

        assert torch.equal(stepped.embeddings(graph), plain.embed(graph))
        assert not stepped.embed(graph).requires_grad
        assert stepped.state_dict().keys() == plain.state_dict().keys()
        batch = first_batch(graph, narrow_recipe(name))
        assert torch.equal(stepped(batch, seeded(1)), plain(batch, seeded(1)))

    @pytest.mark.parametrize("name", built_in("node"))
    def test_a_recipe_says_which(self, name: str, planted: Data) -> None:
        steps = [{"name": "propagate", "hops": 2}, {"name": "concat-features", "weight": 0.5}]
        recipe = narrow_recipe(name, postprocess=steps)
        propagate, concat = recipe.build_for(planted).postprocess
        assert isinstance(propagate, Propagate)
        assert isinstance(concat, ConcatFeatures)
        assert (propagate.hops, concat.weight) == (2, 0.5)
        assert recipe.build_for(planted).embed(planted).shape == (60, recipe.build_for(planted).width + 8)
        assert not recipe.updated({"postprocess": []}).build_for(planted).postprocess

    def test_any_function_can_be_a_step(self, planted: Data) -> None:
        method = build("grace", planted)
        z = method.embed(planted)
        method.postprocess = [lambda z, data: z[:, :2], lambda z, data: z + data.num_nodes]
        assert torch.equal(method.embed(planted), z[:, :2] + 60)


def dense_adjacency(graph: Data) -> Tensor:
    a = torch.eye(graph.num_nodes, dtype=torch.float64)
    a[tuple(graph.edge_index)] = graph.edge_weight.double()
    scale = a.sum(1).rsqrt()
    return scale[:, None] * a * scale


@pytest.mark.parametrize("name", built_in("graph"))
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
        registry.resolve("method", "grcae")


def test_levels_have_methods_of_their_own() -> None:
    every = available_methods()
    assert next(iter(every)) == "grace"
    by_task = {task: set(available_methods(task)) for task in ("node", "graph", "image")}
    assert set(every) == set().union(*by_task.values())
    assert len(every) == sum(len(names) for names in by_task.values())


class TestANewMethod:
    """Needs its source file and a test: no list of names knows it."""

    def test_is_found_where_its_file_is(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "brand_new.py").write_text(
            "from sfa.methods.grace import GRACE\n"
            "from sfa.registry import register\n"
            '@register("method", "brand-new")\n'
            "class BrandNew(GRACE):\n"
            "    pass\n"
        )
        monkeypatch.setitem(registry._parts, "method", dict(registry._parts["method"]))
        monkeypatch.setattr(sfa.methods, "__path__", [*sfa.methods.__path__, str(tmp_path)])
        try:
            registry.import_modules(sfa.methods.__name__, sfa.methods.__path__)  # as the package does in the end
            assert type(Recipe.parse({"method": "brand-new"}).build(4)).__name__ == "BrandNew"
        finally:
            sys.modules.pop("sfa.methods.brand_new", None)
            vars(sfa.methods).pop("brand_new", None)

    def test_without_tests_fails_with_the_file_to_write(self, monkeypatch: pytest.MonkeyPatch) -> None:
        new = type("BrandNew", (GRACE,), {"__module__": "sfa.methods.brand_new"})
        with pytest.raises(AssertionError, match=r"loss of BrandNew .* in tests/methods/test_brand_new\.py"):
            require_own_tests(new)
        replace_part(monkeypatch, "method", "brand-new", new)
        assert "brand-new" in built_in("node")
        recipe = short_recipe("brand-new", "none")
        assert recipe.encoder is not None
        assert (recipe.encoder["hidden"], recipe.training.epochs, recipe.training.lr) == (64, 15, 5e-3)
