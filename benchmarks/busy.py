"""An epoch of GRACE + SFA on Cora with one and with two threads, on a quiet machine and while another process is busy.

    python benchmarks/busy.py [--rounds 8]

The other process holds one core. Every row is a process of its own, since the policy of waiting threads is read when
PyTorch is imported; times are medians, and ratios are to one thread on the quiet machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

POLICIES = ("active", "passive")  # threads that wait spin, PyTorch's default, or sleep, as the command line asks for


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--epochs", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.epochs:
        print(median_epoch(asked.rounds))
        return
    print("| other process | threads | waiting threads | time / one thread, quiet |\n" + "| --- " * 4 + "|")
    reference = None
    for busy in (False, True):
        other = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if busy else None
        for threads, policy in ((1, "passive"), *((2, policy) for policy in POLICIES)):
            seconds = in_a_process(asked.rounds, threads, policy)
            reference = reference or seconds
            ratio = seconds / reference
            print(f"| {'holds one core' if busy else 'none'} | {threads} | {policy} | {ratio:.2f} |", flush=True)
        if other is not None:
            other.kill()


def in_a_process(rounds: int, threads: int, policy: str) -> float:
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": policy}
    command = [sys.executable, __file__, "--epochs", "--rounds", str(rounds)]
    return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def median_epoch(rounds: int) -> float:
    import torch

    from sfa.data import load
    from sfa.graph.features import normalize_features
    from sfa.run import load_recipe

    graph = normalize_features(load("cora"), "row")
    method = load_recipe("paper/cora").build(graph.num_features)
    optimizer, times = torch.optim.Adam(method.parameters(), lr=1e-6), []
    for _ in range(rounds + 2):
        started = time.perf_counter()
        optimizer.zero_grad()
        method(graph, torch.Generator().manual_seed(0)).backward()
        optimizer.step()
        times.append(time.perf_counter() - started)
    return sorted(times[2:])[rounds // 2]


if __name__ == "__main__":
    main()
