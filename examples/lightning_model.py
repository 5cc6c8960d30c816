"""The layer in a LightningModule of one's own, and a callback that shows what it does there.

    pip install 'sfa[lightning]'
    python examples/lightning_model.py [--epochs 30]

The rows of a table (the pixels of digits, as numbers) are encoded by a perceptron; two views of a row have some of its
entries taken from other rows (Bahri et al., 2022). The layer is one line in ``__init__`` and one in ``forward``. The
callback logs the spectrum, the effective rank and the alignment of the feature maps to whatever logger the trainer has;
here none, and its history is read instead. ``SpectralMap()`` is the empty slot: the same model without the layer.
"""

from __future__ import annotations

import argparse

import lightning.pytorch as pl
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn
from torch.utils.data import DataLoader

import sfa
from sfa.data import load
from sfa.evaluate import effective_rank
from sfa.lightning import SpectralDiagnostics
from sfa.losses import nt_xent
from sfa.spectral import SpectralMap


class Model(pl.LightningModule):
    """Encoder, spectral feature augmentation, projector."""

    def __init__(self, in_features: int, spectral: nn.Module, width: int = 128) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            *(nn.Linear(in_features, 2 * width), nn.BatchNorm1d(2 * width), nn.ReLU()), nn.Linear(2 * width, width)
        )
        self.spectral = spectral  # H -> H~ while training, the identity in eval()
        self.projector = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 64))

    def forward(self, x: Tensor) -> Tensor:
        return self.projector(self.spectral(self.encoder(x)))

    def training_step(self, batch: Tensor, batch_idx: int) -> Tensor:
        loss = nt_xent(self(corrupted(batch)), self(corrupted(batch)), tau=0.2)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def corrupted(rows: Tensor, share: float = 0.4) -> Tensor:
    """Some entries of each row from the same column of another row."""
    others = rows[torch.randint(len(rows), rows.shape), torch.arange(rows.shape[1])]
    return torch.where(torch.rand(rows.shape) < share, others, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=30)
    epochs = parser.parse_args().epochs
    digits = load("digits")
    rows, labels, learned, new = digits.x.flatten(1) / 255, digits.y, digits.train_mask, digits.test_mask
    layers = {
        "without SFA": SpectralMap(),
        "with SFA": sfa.SpectralFeatureAugmentation.gentle(),  # recommended
        "with SFA of the paper": sfa.SpectralFeatureAugmentation.paper(),
    }
    for name, layer in layers.items():
        pl.seed_everything(0, verbose=False)
        model, watch = Model(rows.shape[1], layer), SpectralDiagnostics(every=10)
        trainer = pl.Trainer(
            max_epochs=epochs,
            accelerator="cpu",
            logger=False,
            callbacks=[watch],
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        trainer.fit(model, DataLoader(rows[learned], batch_size=256, shuffle=True, drop_last=True))
        with torch.no_grad():
            h = model.eval().encoder(rows)
        accuracy = 100 * LogisticRegression(max_iter=2000).fit(h[learned], labels[learned]).score(h[new], labels[new])
        last = watch.history[-1]
        print(f"{name}: accuracy {accuracy:.1f} on new rows, effective rank {effective_rank(h):.1f}")
        print(
            f"  the last batch: effective rank {last['effective_rank']:.1f}, after the layer "
            f"{last['effective_rank_tilde']:.1f}; distance of its views {last['alignment_relative']:.3f}"
        )
