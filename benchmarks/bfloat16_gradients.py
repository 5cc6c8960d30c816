"""Measure how far the gradient of NT-Xent in bfloat16 is from that in float64, while GRACE trains on Cora.

``python benchmarks/bfloat16_gradients.py`` prints, at the start and after 10 and 40 steps, the relative error of the
gradient with float32 and with bfloat16 similarities, and the time of both as a ratio.
"""

import argparse
import time

import torch
from torch import Tensor

import sfa
from sfa.losses import nt_xent
from sfa.run import Recipe

STEPS = (0, 10, 40)


def gradient(views: list[Tensor], tau: float, dtype: torch.dtype, precision: str) -> tuple[Tensor, float]:
    """Return the gradient of the loss for both views, and the seconds it takes."""
    z = [view.to(dtype).requires_grad_() for view in views]
    start = time.perf_counter()
    found = torch.autograd.grad(nt_xent(*z, tau=tau, precision=precision), z)
    return torch.cat(found).double(), time.perf_counter() - start


def main() -> None:
    """Train, and compare at some steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    torch.set_num_threads(parser.parse_args().threads)
    cora, generator = sfa.data.load("cora"), torch.Generator().manual_seed(0)
    recipe = Recipe.parse({"method": "grace", "encoder": {"hidden": 256}})
    data, method = recipe.prepare(cora), recipe.build_for(cora)
    optimizer = torch.optim.Adam(method.parameters(), lr=5e-4)
    print("step  float32 error  bfloat16 error  float32 time / bfloat16 time")
    for step in range(max(STEPS) + 1):
        if step in STEPS:
            with torch.no_grad():
                views = [method.head(method.encoder(view, generator)) for view in method.augmentation(data, generator)]
            exact, _ = gradient(views, method.tau, torch.float64, "full")
            errors, times = [], []
            for precision in ("full", "bfloat16"):
                runs = [gradient(views, method.tau, torch.float32, precision) for _ in range(5)]
                errors.append(float((runs[0][0] - exact).norm() / exact.norm()))
                times.append(min(seconds for _, seconds in runs))
            print(f"{step:4d}  {errors[0]:13.1e}  {errors[1]:14.1e}  {times[0] / times[1]:.2f}")
        optimizer.zero_grad()
        method(data, generator).backward()
        optimizer.step()


if __name__ == "__main__":
    main()
