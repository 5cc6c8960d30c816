"""Two machines: network namespaces with an address each, joined by a cable that can be cut."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from sfa.data import load
from sfa.data.write_store import write_store
from sfa.train import RunFolder, load_tensors

pytestmark = [pytest.mark.multiprocess, pytest.mark.slow]

MACHINES = [f"sfa-{os.getpid()}-{number}" for number in (1, 2)]
FIRST = "10.77.0.1"
SETTINGS = ["training.optimizer=sgd", "training.lr=0.1", "training.patience=null", "training.checkpoint_every=2"]
SETTINGS += ["encoder.hidden=8", "method.projection=8"]
EXACT = {
    "grace": ["augmentation.edge_drop=[0,0]", "augmentation.feature_drop=[0,0]"],
    "neighbor-contrast": ["method.mask=1", "method.precision=full", "encoder.dropout=0", "encoder.inner=16"],
}
"""Settings with which nothing is drawn that each process would draw for itself."""


class Job(NamedTuple):
    """Data and the options to train on them."""

    data: Path
    options: list[str]


@pytest.fixture(params=["grace", "neighbor-contrast"])
def job(request: pytest.FixtureRequest, planted_file: Path, tmp_path: Path) -> Job:
    """GRACE on a graph in a file, or neighbor contrast, the default, on a stored graph."""
    method, data = request.param, planted_file
    if method == "neighbor-contrast":
        data = tmp_path / "store"
        write_store(load(planted_file), data)
    words = ["--method", method, "--spectral", "none", "--set", *SETTINGS, *EXACT[method]]
    return Job(data, [*words, "--no-evaluate", "--embed", "none"])


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@pytest.fixture
def cable() -> Iterator[None]:
    """Make two machines with a cable between them, and remove them at the end."""
    if not shutil.which("ip"):
        pytest.skip("makes network namespaces by `ip`, of iproute2")
    try:
        ip("netns", "add", MACHINES[0])
    except subprocess.CalledProcessError as error:
        pytest.skip(f"network namespaces cannot be made here: {error.stderr.strip()}")
    try:
        ip("netns", "add", MACHINES[1])
        ip(*f"link add end1 netns {MACHINES[0]} type veth peer name end2 netns {MACHINES[1]}".split())
        for number, name in enumerate(MACHINES, start=1):
            ip(*f"-n {name} addr add 10.77.0.{number}/24 dev end{number}".split())
            for device in (f"end{number}", "lo"):
                ip(*f"-n {name} link set {device} up".split())
        yield
    finally:
        for name in MACHINES:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def start(rank: int, command: list[str], **variables: str) -> subprocess.Popen[str]:
    """Start a command on a machine."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": f"end{rank + 1}", **variables}
    words = ["ip", "netns", "exec", MACHINES[rank], sys.executable, "-m", *command]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)


def train_plainly(rank: int, *words: str) -> subprocess.Popen[str]:
    """Start a process that finds the other by the variables that Kubernetes sets, without torchrun."""
    where = {"MASTER_ADDR": FIRST, "MASTER_PORT": "29400", "WORLD_SIZE": "2", "RANK": str(rank), "SFA_SILENCE": "4"}
    return start(rank, ["sfa", "train", *words], **where)


def assert_as_in_one_process(folder: RunFolder, job: Job, epochs: int) -> None:
    alone = folder.path.with_name("alone")
    words = [str(job.data), "--out", str(alone), "--epochs", str(epochs), *job.options]
    command = [sys.executable, "-m", "sfa", "train", *words]
    subprocess.run(command, check=True, capture_output=True)
    (found, progress), (expected, _) = (load_tensors(one.checkpoint) for one in (folder, RunFolder(alone)))
    assert progress["epoch"] == epochs
    for name, value in expected.items():
        if name == "model.directions":  # of which the sign is free
            continue
        torch.testing.assert_close(found[name], value, rtol=1e-5, atol=1e-6, msg=name)
    assert [row["epoch"] for row in folder.read_metrics()] == list(range(1, epochs + 1))


@pytest.mark.usefixtures("cable")
def test_two_machines_train_as_one_process(job: Job, tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = ["-m", "sfa", "train", str(job.data), "--out", str(out), "--epochs", "5", *job.options]
    meet = f"--nnodes 2 --nproc-per-node 1 --rdzv-backend c10d --rdzv-id 1 --rdzv-endpoint {FIRST}:29400".split()
    # Its own address is not that of the host's name in a namespace, so that torchrun must be told who is the first.
    own = [["--rdzv-conf", f"is_host={int(rank == 0)}", "--local-addr", f"10.77.0.{rank + 1}"] for rank in (0, 1)]
    runs = [start(rank, ["torch.distributed.run", *meet, *own[rank], *words]) for rank in (0, 1)]
    said = [run.communicate(timeout=120)[1] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    assert "2 processes" in said[0] + said[1]
    assert_as_in_one_process(RunFolder(out), job, 5)


@pytest.mark.usefixtures("cable")
def test_a_cut_cable_ends_both_and_the_run_resumes(job: Job, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    words = [str(job.data), "--out", str(folder.path), "--epochs", "100000", *job.options]
    runs = [train_plainly(rank, *words) for rank in (0, 1)]
    deadline = time.monotonic() + 90
    while len(folder.read_metrics()) < 4:
        assert [run.poll() for run in runs] == [None, None], [run.communicate() for run in runs]
        assert time.monotonic() < deadline, "no progress"
        time.sleep(0.005)
    ip(*f"-n {MACHINES[1]} link set end2 down".split())
    for rank, run in enumerate(runs):
        said = run.communicate(timeout=60)[1].splitlines()
        assert run.returncode == 1, said
        (sentence,) = (line for line in said if line.startswith("sfa"))
        assert "Another process of this run has ended or cannot be reached" in sentence
        assert "Traceback" not in " ".join(said)
        assert sentence.startswith("sfa (process 1):" if rank else "sfa:")

    ip(*f"-n {MACHINES[1]} link set end2 up".split())
    epochs = len(folder.read_metrics()) + 3
    recipe = folder.recipe_file.read_text().replace("epochs: 100000", f"epochs: {epochs}")
    folder.recipe_file.write_text(recipe)  # to the end, but not for ever
    rest = ["--resume", "--out", str(folder.path), "--no-evaluate", "--embed", "none"]
    runs = [train_plainly(rank, *rest) for rank in (0, 1)]
    said = [run.communicate(timeout=120)[1] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    assert_as_in_one_process(folder, job, epochs)
