"""Images in an array, an embedding each: digits, told apart by a classifier that is given embeddings alone.

    python examples/embed_my_images.py [--epochs 30]

The digits are those of scikit-learn. The embedder learns from the first 1287 of them, without labels; the classifier
from their embeddings and labels, few or all; the other 510 are new to both.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sfa
from sfa.data import load

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=30)
    epochs = parser.parse_args().epochs
    digits = load("digits")
    images, labels = digits.x.numpy(), digits.y.numpy()
    train, test = (np.flatnonzero(mask) for mask in (digits.train_mask, digits.test_mask))
    few = np.concatenate([train[labels[train] == digit][:5] for digit in range(10)])

    def accuracy(rows: np.ndarray, part: np.ndarray) -> float:
        """On the test part, in per cent, of a classifier that learns from some of the others."""
        classifier = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000))
        return 100 * float(classifier.fit(rows[part], labels[part]).score(rows[test], labels[test]))

    def show(name: str, rows: np.ndarray) -> None:
        print(f"{name}: accuracy {accuracy(rows, few):.1f} with 5 labels a digit, {accuracy(rows, train):.1f} with all")

    show("raw pixels", images.reshape(len(images), -1))
    for name, spectral in {"without SFA": "none", "with SFA": "sfa"}.items():
        embedder = sfa.ImageEmbedder(
            method="simclr",
            spectral=spectral,
            epochs=epochs,
            options={"augmentation.strength": "digits"},
            random_state=0,
        )
        show(name, embedder.fit(images[train]).transform(images))
