"""Another encoder in a method: PyTorch Geometric's GAT in GRACE with the layer, on Cora.

    python examples/gat_in_grace.py [--epochs 50]

Any module can be the encoder. What its ``forward`` takes decides what it is called with: here features and edges. The
same from the command line:

    sfa train cora --method grace --epochs 50 --encoder torch_geometric.nn:GAT \
        --set encoder.hidden_channels=64 encoder.num_layers=2 encoder.out_channels=128
"""

from __future__ import annotations

import argparse

import torch
from torch_geometric.nn import GAT

import sfa
from sfa.data import load
from sfa.evaluate.baselines import BASELINES
from sfa.registry import resolve

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=50)
    epochs = parser.parse_args().epochs
    cora = load("cora")
    torch.manual_seed(0)
    gat = GAT(in_channels=cora.num_features, hidden_channels=64, num_layers=2, out_channels=128)
    embedder = sfa.NodeEmbedder("grace", "gentle", encoder=gat, epochs=epochs, random_state=0)
    z = embedder.fit_transform(cora)

    prepared = embedder.recipe_.prepare(cora)  # features as training saw them
    embeddings = {
        **BASELINES["node"],
        "untrained GAT": embedder.recipe_.build_for(cora, parts={"encoder": gat}).embed,
        "GAT in GRACE + SFA": z,
    }
    protocol = resolve("protocol", "honest-10-10-80")
    for name, embedding in embeddings.items():
        print(f"{name}: accuracy {protocol.evaluate(embedding, prepared, name=name)}")
