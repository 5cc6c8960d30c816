"""A training step on images against its encoder's forward and backward alone: what views, SFA, head and loss add.

    python benchmarks/image_level.py [--method simclr barlow-twins] [--encoder small-strided] [--hidden 32]
                                     [--recipe cifar10-subset] [--batch 256] [--rounds 8] [--threads 1]
                                     [--part views step]

Everything is timed in turns in one run, and reported as ratios of least times. "views" compares random views with
kornia's augmentations of the same strengths (its blur has a window of 17 pixels, ours reaches as far). Of "step",
"encoder" is the forward and backward of
the encoder on two views that are there already. "step" is everything that training does: a batch cut out of the set,
two random views, the encoder on both, SFA, projector, loss, backward and the optimizer's step. Images are random, of
CIFAR's size: what they show costs nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from timing import side_by_side
from torch import Tensor, nn

from sfa.augment import STRENGTHS
from sfa.augment.image import random_view
from sfa.data import build_images
from sfa.methods import Method
from sfa.run import Recipe, load_recipe
from sfa.sampling import Images
from sfa.train.optim import make_optimizer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", nargs="+", default=["simclr", "barlow-twins", "simsiam", "swav", "byol"])
    parser.add_argument("--encoder", nargs="+", default=["small-strided"])
    parser.add_argument("--hidden", type=int, default=32, help="channels of the encoder's first stage")
    parser.add_argument(
        "--recipe", help="take encoder and heads of each method's recipe for a data set, cifar10-subset say"
    )
    parser.add_argument("--batch", type=int, default=256, help="images of a step")
    parser.add_argument("--size", type=int, default=32, help="pixels a side")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--part", nargs="+", choices=["views", "step"], default=["views", "step"])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(
        f"torch {torch.__version__}, {arguments.threads} threads, {arguments.rounds} rounds, batches of "
        f"{arguments.batch} images of {arguments.size} × {arguments.size}\n"
    )
    if "views" in arguments.part:
        views(arguments)
    if "step" in arguments.part:
        step(arguments)


def views(arguments: argparse.Namespace) -> None:
    """Strong views of one batch, ours and kornia's."""
    import kornia.augmentation as kornia

    size, generator = (arguments.size, arguments.size), torch.Generator().manual_seed(0)
    images = torch.rand(arguments.batch, 3, *size, generator=generator)
    theirs = nn.Sequential(
        kornia.RandomResizedCrop(size, scale=(0.08, 1.0), resample="bicubic"),
        kornia.ColorJitter(0.8, 0.8, 0.8, 0.2, p=0.8),
        kornia.RandomGrayscale(p=0.2),
        kornia.RandomGaussianBlur((17, 17), (0.1, 2.0), p=0.5),
        kornia.RandomHorizontalFlip(p=0.5),
    )
    strong, last = STRENGTHS["strong"][0], images.contiguous(memory_format=torch.channels_last)
    things = {"ours": lambda: random_view(last, strong, generator), "kornia": lambda: theirs(images)}
    times = side_by_side(things, 4 * arguments.rounds)
    print(f"Strong views: {1000 * times['ours']:.1f} ms here; kornia / ours {times['kornia'] / times['ours']:.1f}\n")


def step(arguments: argparse.Namespace) -> None:
    print("| method | encoder | images/s, step | step / encoder | step without SFA / encoder | views / encoder |")
    print("| --- | --- | --- | --- | --- | --- |")
    for encoder in arguments.encoder:
        for method in arguments.method:
            times = side_by_side(parts(method, encoder, arguments), arguments.rounds)
            alone = times["encoder"]
            ratios = [times[part] / alone for part in ("step", "step without SFA", "views")]
            rate = arguments.batch / times["step"]
            print(
                f"| {method} | {encoder} | {rate:.0f} | {' | '.join(f'{ratio:.2f}' for ratio in ratios)} |", flush=True
            )


def parts(name: str, encoder: str, arguments: argparse.Namespace) -> dict[str, Callable[[], object]]:
    """What is timed, each from the start."""
    generator = torch.Generator().manual_seed(0)
    shape = (4 * arguments.batch, arguments.size, arguments.size, 3)
    images = build_images(torch.randint(256, shape, dtype=torch.uint8, generator=generator).numpy())
    sampler = Images(images, batch_size=arguments.batch)
    seeds = sampler.plan(generator)[0]
    method, plain, bare = (built(name, encoder, arguments, spectral) for spectral in ("sfa", "none", "none"))
    network = bare.encoder
    views: tuple[Tensor, Tensor] = method.augmentation(sampler.batch(seeds, generator), generator)

    def encode() -> None:
        network.zero_grad()
        torch.stack([network(view).sum() for view in views]).sum().backward()

    def training_step(model: Method) -> Callable[[], None]:
        optimizer = make_optimizer("adamw", model, lr=1e-6, weight_decay=1e-4, momentum=0.9)

        def run() -> None:
            loss = model(sampler.batch(seeds, generator), generator)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            model.after_step(0.5)

        return run

    return {
        "encoder": encode,
        "step": training_step(method),
        "step without SFA": training_step(plain),
        "views": lambda: method.augmentation(sampler.batch(seeds, generator), generator),
    }


def built(name: str, encoder: str, arguments: argparse.Namespace, spectral: str) -> Method:
    if arguments.recipe is not None:
        return load_recipe(f"{name}/{arguments.recipe}").updated({"spectral": spectral}).build(in_features=3)
    options = {"name": encoder, "hidden": arguments.hidden}
    return Recipe.parse({"method": {"name": name}, "encoder": options, "spectral": spectral}).build(in_features=3)


if __name__ == "__main__":
    main()
