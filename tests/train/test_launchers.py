"""Processes that other launchers than torchrun start join one group, or say in a sentence what is missing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor
from torch import distributed as dist
from torch_geometric.data import Data

from sfa import distributed
from sfa.distributed import LAUNCHERS, train_alone
from sfa.errors import InputError
from sfa.run import Recipe, train_run
from sfa.train import RunFolder, load_tensors, make_fabric, train
from tests.processes import run_in_processes

EXACT = {"spectral": "none", "method.projection": 8, "encoder.hidden": 8, "augmentation.edge_drop": [0, 0]}
EXACT |= {"augmentation.feature_drop": [0, 0], "training.optimizer": "sgd", "training.lr": 0.1, "training.epochs": 5}


@pytest.fixture
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for names in LAUNCHERS.values():
        for name in (*names, "MASTER_ADDR", "MASTER_PORT", "SLURM_STEP_NODELIST", "SLURM_NODELIST", "SLURM_JOB_ID"):
            monkeypatch.delenv(name, raising=False)
    return monkeypatch


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("", 0))
        return int(one.getsockname()[1])


def weights_after_training(graph: Data) -> dict[str, Tensor]:
    """Train without random views on whole batches, where several processes compute what one does."""
    recipe = Recipe.parse({"method": "grace"}).updated(EXACT)
    method = recipe.build(graph.num_features)
    train(method, graph, **recipe.training.arguments, device="cpu")
    return {name: value.detach() for name, value in method.state_dict().items()}


@pytest.mark.multiprocess
def test_a_process_group_that_is_there_is_joined(planted: Data) -> None:
    """As Ray makes one: gradients are averaged, and the weights are those of one process."""
    alone = weights_after_training(planted)
    for found in run_in_processes(weights_after_training, 2, planted):
        for name, value in alone.items():
            torch.testing.assert_close(found[name], value, rtol=1e-5, atol=1e-7, msg=name)


def run_and_use_the_group(graph: Data, path: Path) -> tuple[int, bool]:
    run = train_run(graph, recipe=Recipe.parse({"method": "grace"}).updated(EXACT), out=path, device="cpu")
    total = torch.ones(())
    dist.all_reduce(total)
    return int(total), run.scores is not None


@pytest.mark.multiprocess
def test_a_run_leaves_the_group_of_the_caller(planted: Data, tmp_path: Path) -> None:
    assert run_in_processes(run_and_use_the_group, 2, planted, tmp_path / "run") == [(2, True), (2, False)]
    assert RunFolder(tmp_path / "run").checkpoint.exists()


def refused_fabric() -> str:
    with pytest.raises(InputError) as error:
        make_fabric(Fabric(accelerator="cpu", devices=1))
    return str(error.value)


@pytest.mark.multiprocess
def test_a_fabric_that_leaves_out_the_others_is_refused() -> None:
    assert all("has 2 processes, and the Fabric 1" in said for said in run_in_processes(refused_fabric, 2))


def started_by(launcher: str, rank: int, port: int) -> dict[str, str]:
    values = dict(zip(LAUNCHERS[launcher], ("2", str(rank), "2", str(rank)), strict=True))
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "MASTER_", "OMPI_"))}
    where = {"MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    where |= {"SLURM_STEP_NODELIST": "localhost"} if launcher == "srun" else {"MASTER_ADDR": "127.0.0.1"}
    return bare | values | where


@pytest.mark.multiprocess
@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["srun", "mpirun"])
def test_tasks_train_one_run(planted_file: Path, tmp_path: Path, launcher: str) -> None:
    out, port = tmp_path / "run", free_port()
    options = ["--method", "grace", "--no-evaluate", "--embed", "none"]
    for key, value in EXACT.items():
        options += ["--set", f"{key}={value}"]
    command = [sys.executable, "-m", "sfa", "train", str(planted_file), *options, "--out"]
    tasks = [
        subprocess.Popen([*command, str(out)], stderr=subprocess.PIPE, text=True, env=started_by(launcher, rank, port))
        for rank in (0, 1)
    ]
    said = [task.communicate(timeout=100)[1] for task in tasks]
    assert [task.returncode for task in tasks] == [0, 0], said
    assert "2 processes" in said[0]
    assert said[1] == ""
    subprocess.run([*command, str(tmp_path / "alone"), "--quiet"], check=True)
    (found, _), (alone, _) = (load_tensors(RunFolder(path).checkpoint) for path in (out, tmp_path / "alone"))
    for name, value in alone.items():
        torch.testing.assert_close(found[name], value, rtol=1e-5, atol=1e-7, msg=name)


@pytest.mark.parametrize("launcher", ["torchrun", "mpirun", "mpiexec"])
def test_processes_that_know_no_meeting_point_are_refused(bare_environment: pytest.MonkeyPatch, launcher: str) -> None:
    for name, value in zip(LAUNCHERS[launcher], "3131", strict=True):
        bare_environment.setenv(name, value)
    with pytest.raises(InputError, match=f"{launcher} started 3 processes.*set MASTER_ADDR"):
        make_fabric("cpu")
    train_alone()
    assert make_fabric("cpu").world_size == 1


def test_a_silence_that_is_no_number_is_refused(bare_environment: pytest.MonkeyPatch) -> None:
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "WORLD_SIZE": "2", "RANK": "1", "SFA_SILENCE": "long"}
    for name, value in where.items():
        bare_environment.setenv(name, value)
    with pytest.raises(InputError, match=r"SFA_SILENCE is a number of seconds.*not 'long'"):
        make_fabric("cpu")


@pytest.mark.parametrize(
    "variables",
    [
        {"SLURM_NTASKS": "2", "SLURM_PROCID": "0", "SLURM_NODELIST": "n1"},  # a batch script without srun
        {"SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0"},
        {"WORLD_SIZE": "1", "RANK": "0", "SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "1"},  # torchrun in each task
        {"WORLD_SIZE": "2"},
    ],
    ids=["sbatch", "one task", "torchrun in a task", "no rank"],
)
def test_one_process_trains_alone(bare_environment: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name, value in variables.items():
        bare_environment.setenv(name, value)
    assert make_fabric("cpu").world_size == 1


def test_only_the_torchrun_that_began_a_run_goes_on_with_it(
    planted: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, out = Recipe.parse({"method": "grace"}).updated(EXACT), tmp_path / "run"
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "first")
    train_run(planted, recipe=recipe, out=out, evaluate=False, embed="none")
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert train_run(planted, recipe=recipe, out=out, evaluate=False, embed="none").progress.finished
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "second")
    with pytest.raises(InputError, match="already holds files"):
        train_run(planted, recipe=recipe, out=out)


def epochs_trained(data: Path, out: Path, resumes: int) -> int:
    """Train where only one process was told to go on with a run, for it was started when the others had begun one."""
    small = {"encoder.hidden": 8, "method.projection": 8}
    resume = distributed.rank() == resumes
    run = train_run(data, out=out, resume=resume, method="grace", epochs=2, set=small, evaluate=False, embed="none")
    return run.progress.epoch


@pytest.mark.multiprocess
def test_the_first_process_says_whether_a_run_is_resumed(planted_file: Path, tmp_path: Path) -> None:
    assert run_in_processes(epochs_trained, 2, planted_file, tmp_path / "run", 1) == [2, 2]
