"""SwAV: its whole step against the paper's equations, its queue, its resting prototypes, and its settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel
from torch_geometric.data import Data

from sfa import distributed
from sfa.augment import ImageViews
from sfa.errors import InputError
from sfa.methods import SwAV
from sfa.nn import small
from sfa.run import Recipe, load_recipe
from sfa.spectral import SpectralMap
from sfa.train import RunFolder, load_tensors, train
from tests.callbacks import on_epoch
from tests.methods.whole_steps import Changes, changed, gradients, images, pixels, seeded
from tests.processes import run_in_processes

SHORT_RUN: dict[str, Any] = {
    "encoder.hidden": 16,
    "augmentation.strength": "digits",
    "method.head_hidden": 256,
    "method.head_width": 64,
    "method.prototypes": 300,
    "method.frozen_epochs": 0,
    "sampler.batch_size": 64,
    "training.warmup": 0,
    "training.lr": 3e-3,
    "training.epochs": 5,
}
SMALL: dict[str, Any] = {
    "head_hidden": 7,
    "head_width": 5,
    "prototypes": 4,
    "queue": 10,
    "queue_from": 3,
    "frozen_epochs": 1,
}


def make(spectral: SpectralMap | None = None, **options: Any) -> SwAV:
    torch.manual_seed(0)
    return SwAV(small(3, 2), ImageViews("identity"), spectral=spectral, **{**SMALL, **options}).double()


def slow_assignments(scores: Tensor) -> Tensor:
    """The listing in the paper's appendix, with the prototypes in columns."""
    q = (scores.detach() / 0.05).exp()
    for _ in range(3):
        q = q / q.sum(0)
        q = q / q.sum(1, keepdim=True)
    return q


def slow_loss(method: SwAV, maps: tuple[Tensor, ...], queue: Tensor | None = None) -> Tensor:
    """Image by image, from the augmented maps of both views and, if there are any, the projections in a queue."""
    c = method.prototypes.weight
    scores, assigned = [], []
    for view, h in enumerate(maps):
        z = method.head(h)
        scores.append(torch.stack([row / row.square().sum().sqrt() for row in z]) @ c.mT)
        together = scores[view] if queue is None else torch.cat([queue[view] @ c.mT, scores[view]])
        assigned.append(slow_assignments(together)[-len(z) :])
    terms = [
        -(q * ((s / 0.1).exp() / (s / 0.1).exp().sum()).log()).sum() / 2
        for view, other in ((0, 1), (1, 0))
        for s, q in zip(scores[view], assigned[other], strict=True)
    ]
    return torch.stack(terms).sum() / len(maps[0])


def projections(method: SwAV, h: Tensor) -> Tensor:
    return torch.nn.functional.normalize(method.head(h)).detach()


def test_the_loss_of_a_step_is_the_papers_in_value_and_gradient() -> None:
    """With the spectral map between encoder and projector; views are the images themselves."""
    spectral = Changes()
    method, batch = make(spectral), images(9)
    loss = method(batch, seeded())
    ((h_alpha, h_beta),) = spectral.calls
    torch.testing.assert_close(h_alpha, method.encoder(pixels(batch)))
    torch.testing.assert_close(h_beta, h_alpha, rtol=0, atol=0)

    h = method.encoder(pixels(batch))
    expected = slow_loss(method, changed(h, h))
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(gradients(method, loss), gradients(method, expected), rtol=1e-5, atol=1e-10)


def test_with_the_queue_too() -> None:
    """A batch is assigned together with the projections of earlier ones, and none of these has a gradient."""
    method = make(Changes())
    method.before_step(3.0)
    for seed in (1, 2):
        method(images(6, seed=seed), seeded())
    assert method.queue is not None
    queue, batch = method.queue.rows.clone(), images(9, seed=3)
    h = method.encoder(pixels(batch))
    loss, expected = method(batch, seeded()), slow_loss(method, changed(h, h), queue)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(gradients(method, loss), gradients(method, expected), rtol=1e-5, atol=1e-10)
    assert not torch.isclose(expected, slow_loss(method, changed(h, h)))


def test_the_queue_fills_from_its_epoch_on_and_is_used_when_full() -> None:
    method, batch = make(Changes()), images(4)
    h = method.encoder(pixels(batch))
    plain = slow_loss(method, changed(h, h))
    z = torch.stack([projections(method, h_tilde) for h_tilde in changed(h, h)])
    assert method.queue is not None
    for epochs, stored in ((0.0, 0), (2.9, 0), (3.0, 4), (3.5, 8), (4.0, 10)):
        method.before_step(epochs)
        torch.testing.assert_close(method(batch, seeded()), plain)
        assert int(method.queue.stored) == stored
        torch.testing.assert_close(method.queue.rows[:, :stored], torch.cat([z, z, z], dim=1)[:, :stored])
    method.before_step(4.5)
    expected = slow_loss(method, changed(h, h), method.queue.rows)
    assert not torch.isclose(method(batch, seeded()), plain)
    torch.testing.assert_close(method(batch, seeded()), expected)


def test_the_queue_takes_nothing_in_outside_of_training() -> None:
    method = make().eval()
    method.before_step(3.0)
    method(images(4), seeded())
    assert method.queue is not None
    assert int(method.queue.stored) == 0


def test_without_a_queue_there_is_none() -> None:
    method = make(queue=0)
    method.before_step(100.0)
    torch.testing.assert_close(method(images(4), seeded()), make()(images(4), seeded()))
    assert not [name for name in method.state_dict() if "queue" in name]


def recipe(**changes: Any) -> Recipe:
    given = {"method": {"name": "swav", **SMALL}, "encoder": {"hidden": 2}, "sampler": {"batch_size": 16}}
    return Recipe.parse(given).updated(
        {"training.warmup": 0, "training.lr": 0.05, "training.weight_decay": 0.1, **changes}
    )


def run(recipe: Recipe, pictures: Data, **options: Any) -> SwAV:
    method = recipe.build_for(pictures)
    train(method, pictures, **recipe.training.arguments, sampler=recipe.make_sampler(), device="cpu", **options)
    assert isinstance(method, SwAV)
    return method


@pytest.mark.parametrize(("optimizer", "accumulate"), [("adam", 1), ("adamw", 1), ("sgd", 2), ("lars", 1)])
def test_prototypes_rest_to_the_bit_at_first(pictures: Data, tmp_path: Path, optimizer: str, accumulate: int) -> None:
    """Neither weight decay nor momentum moves them, and the optimizer has not heard of them when they begin to move."""
    folder = RunFolder.create(tmp_path / "run", {}, {})
    rests = recipe(
        **{"training.optimizer": optimizer, "training.accumulate": accumulate, "method.frozen_epochs": 2}
    ).updated({"training.epochs": 2})
    start = rests.build_for(pictures)
    rested = run(rests, pictures, folder=folder)
    assert torch.equal(rested.prototypes.weight, start.get_parameter("prototypes.weight"))
    assert not torch.equal(rested.head[0].weight, start.get_parameter("head.0.weight"))
    tensors, _ = load_tensors(folder.checkpoint)
    known = [value for name, value in tensors.items() if name.startswith("optimizer.")]
    assert known
    assert not any(value.shape == rested.prototypes.weight.shape for value in known)
    moved = run(rests.updated({"training.epochs": 3}), pictures)
    assert (moved.prototypes.weight - start.get_parameter("prototypes.weight")).abs().max() > 1e-3


def test_prototypes_have_length_one_before_each_step(pictures: Data) -> None:
    built = recipe().build_for(pictures)
    assert isinstance(built, SwAV)
    for method in (built, run(recipe(**{"training.epochs": 3}), pictures)):
        torch.testing.assert_close(method.prototypes.weight.norm(dim=1), torch.ones(4))
        assert method.prototypes.bias is None


class Crash(Exception):
    pass


@pytest.mark.slow
@pytest.mark.parametrize("crash", [1, 4])
def test_a_crash_and_a_resume_give_the_same_bits(pictures: Data, tmp_path: Path, crash: int) -> None:
    """While prototypes rest, and while the queue fills; it is used in the end."""
    changes = {"method.frozen_epochs": 2, "method.queue": 60, "training.epochs": 6, "training.checkpoint_every": 1}

    def break_off(metrics: dict[str, Any]) -> None:
        if metrics["epoch"] == crash + 1:
            raise Crash

    whole, broken = (RunFolder.create(tmp_path / name, {}, {}) for name in ("whole", "broken"))
    finished = run(recipe(**changes), pictures, folder=whole)
    assert finished.queue is not None
    assert finished.queue.is_full
    with pytest.raises(Crash):
        run(recipe(**changes), pictures, folder=broken, callbacks=[on_epoch(break_off)])
    _, meta = load_tensors(broken.checkpoint)
    assert meta["epoch"] == crash
    run(recipe(**changes), pictures, folder=broken, resume=True)
    (tensors, meta), (found, found_meta) = load_tensors(whole.checkpoint), load_tensors(broken.checkpoint)
    assert meta == found_meta
    assert tensors.keys() == found.keys()
    assert all(torch.equal(tensors[name], found[name]) for name in tensors)
    assert {"model.queue.rows", "model.queue.stored"} <= tensors.keys()


def losses_gradients_and_queue(batches: list[list[Data]]) -> tuple[list[float], dict[str, Tensor], Tensor]:
    """Of this process's part of each batch; the gradients are those of the last, for which the queue is used."""
    method = make(queue_from=0)
    distributed.enable_cross_rank(method)
    method.before_step(0.0)
    losses = [method(parts[distributed.rank()], seeded()) for parts in batches]
    assert method.queue is not None
    return [loss.item() for loss in losses], gradients(method, losses[-1]), method.queue.rows


@pytest.mark.multiprocess
def test_two_processes_act_as_one() -> None:
    """They assign all images together, and keep one queue."""
    whole = [images(7, seed=seed) for seed in range(3)]
    halves = [[Data(x=batch.x[:4]), Data(x=batch.x[4:])] for batch in whole]
    losses, gradient, queue = losses_gradients_and_queue([[batch] for batch in whole])
    first, second = run_in_processes(losses_gradients_and_queue, 2, halves)
    for found in (first, second):
        assert found[0] == pytest.approx(losses, rel=1e-9)
        torch.testing.assert_close(found[2], queue)
    mean = {name: (first[1][name] + second[1][name]) / 2 for name in gradient}
    torch.testing.assert_close(mean, gradient, rtol=1e-6, atol=1e-9)


def rested_and_moved() -> tuple[bool, float]:
    """Whether resting prototypes keep their bits in steps of two processes, and how far the first free step goes."""
    method = make(frozen_epochs=2, queue_from=0)
    distributed.enable_cross_rank(method)
    model = DistributedDataParallel(method)
    optimizer = torch.optim.SGD(method.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1)
    start = method.prototypes.weight.detach().clone()
    kept = []
    for epoch in range(3):
        method.before_step(float(epoch))
        optimizer.zero_grad()
        model(images(4, seed=2 * epoch + distributed.rank()), seeded()).backward()
        method.after_backward()
        optimizer.step()
        method.after_step((epoch + 1) / 3)
        kept.append(torch.equal(method.prototypes.weight, start))
    return kept == [True, True, False], float((method.prototypes.weight.detach() - start).norm())


@pytest.mark.multiprocess
def test_prototypes_rest_in_several_processes_too() -> None:
    first, second = run_in_processes(rested_and_moved, 2)
    assert first[0]
    assert second[0]
    assert first[1] == second[1] > 0


def test_published_settings() -> None:
    for dataset, encoder, epochs in (
        ("cifar10", "resnet18", 1000),
        ("cifar100", "resnet18", 1000),
        ("imagenet-100", "resnet18-imagenet", 400),
    ):
        shipped = load_recipe("swav", dataset)
        method, training = shipped.method, shipped.training
        assert shipped.encoder == {"name": encoder, "hidden": 64}
        assert shipped.augmentation == {"name": "image", "strength": "strong"}
        assert (method["head_hidden"], method["head_width"], method["prototypes"]) == (2048, 128, 3000)
        assert (method["tau"], method["epsilon"], method["iterations"]) == (0.1, 0.05, 3)
        assert (method["queue"], method["queue_from"], method["frozen_epochs"]) == (3840, 50, 2)
        assert (training.optimizer, training.momentum, training.epochs) == ("lars", 0.9, epochs)
        assert (training.lr, training.weight_decay) == (0.6, 1e-6)
        assert (training.warmup, training.warmup_from, training.cosine) == (10, 3e-5, True)
        assert (training.precision, training.accumulate, shipped.sampler["batch_size"]) == ("bf16-mixed", 1, 256)


def test_wrong_options_are_refused() -> None:
    for option, value in (("tau", 0.0), ("epsilon", -1.0), ("iterations", 0), ("queue", -1), ("prototypes", 0)):
        with pytest.raises(InputError, match=option):
            make(**{option: value})
