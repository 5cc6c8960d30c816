"""Many passes of the layer: on the Gram matrix of the map, one by one on the map itself, and in closed form.

    python benchmarks/passes.py [--rounds 5] [--rows 2708] [--passes 16 64] [--widths 64 128 256 512 1024]

Every number is a ratio of the least times of things measured in turns in one run, forward and backward. Below 1 the
Gram matrix is faster; `sfa.spectral.passes.gram_pays` says where it is taken. The closed form is `soft_clip`.
"""

from __future__ import annotations

import argparse
from functools import partial

import torch
from timing import side_by_side
from torch import Tensor

from sfa.spectral import power_iteration, soft_clip
from sfa.spectral.passes import RankOneProduct, gram_pays, make_passes, subtract_projection


def both_ways(product: RankOneProduct, h: Tensor, gradient: Tensor) -> None:
    h.grad = None
    subtract_projection(h, *product, is_constant=True).backward(gradient)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=2708)
    parser.add_argument("--passes", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--widths", type=int, nargs="+", default=[64, 128, 256, 512, 1024])
    asked = parser.parse_args()
    print(f"\n## {asked.rows} rows, k = 1\n")
    print(
        "| passes | width | Gram matrix / one by one | taken | layer / one pass of it | layer / soft-clip |\n"
        + "| --- " * 6
        + "|"
    )
    for passes in asked.passes:
        for width in asked.widths:
            h, gradient = torch.randn(asked.rows, width, requires_grad=True), torch.randn(asked.rows, width)
            starts, map_ = torch.randn(width, passes), h.detach()

            def all_passes(
                on_gram: bool, h: Tensor = h, m: Tensor = map_, s: Tensor = starts, g: Tensor = gradient
            ) -> None:
                both_ways(make_passes(m, s.split(1, dim=-1), 1, 0.1, on_gram=on_gram), h, g)

            def layer(passes: int, h: Tensor = h, g: Tensor = gradient) -> None:
                h.grad = None
                power_iteration(h, 1, strength=0.1, passes=passes).backward(g)

            def closed(h: Tensor = h, g: Tensor = gradient) -> None:
                h.grad = None
                soft_clip(h).backward(g)

            things = {"gram": partial(all_passes, True), "map": partial(all_passes, False)}
            things |= {"layer": partial(layer, passes), "one": partial(layer, 1), "closed": closed}
            times = side_by_side(things, asked.rounds)
            taken = "Gram" if gram_pays(asked.rows, width, 1, passes) else "one by one"
            ratios = times["gram"] / times["map"], times["layer"] / times["one"], times["layer"] / times["closed"]
            print(f"| {passes} | {width} | {ratios[0]:.2f} | {taken} | {ratios[1]:.1f} | {ratios[2]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
