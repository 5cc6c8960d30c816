"""Ray Train starts two workers, which train one run of sfa on Cora (`pip install 'sfa[ray]'`)."""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import ray
from ray.train import Checkpoint, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer


def train_on_worker(config: dict[str, Any]) -> None:
    """Join the process group that Ray has made: each worker takes its part of every batch, gradients are averaged."""
    import sfa

    embedder = sfa.NodeEmbedder("grace", random_state=0, **config).fit(sfa.data.load("cora"))
    with tempfile.TemporaryDirectory() as folder:
        embedder.save(Path(folder) / "embedder.safetensors")
        is_first = ray.train.get_context().get_world_rank() == 0
        checkpoint = Checkpoint.from_directory(folder) if is_first else None
        metrics = {"loss": embedder.history_[-1]["loss"], "workers": ray.train.get_context().get_world_size()}
        ray.train.report(metrics, checkpoint=checkpoint)  # as all workers must


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--storage", help="Folder of the checkpoints. Default: ~/ray_results.")
arguments = parser.parse_args()
trainer = TorchTrainer(
    train_on_worker,
    train_loop_config={"epochs": arguments.epochs, "batch_size": 512, "hidden": 64},
    scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
    run_config=RunConfig(storage_path=arguments.storage, name="sfa-on-cora"),
)
metrics = trainer.fit().metrics
print(f"{metrics['workers']} workers, loss {metrics['loss']:.4f}")
