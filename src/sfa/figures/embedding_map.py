"""A map of embeddings in two dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.manifold import TSNE

from sfa.figures.style import CATEGORIES, style


@style()
def draw_maps(
    embeddings: Mapping[str, NDArray[np.float32]],
    y: NDArray[np.int64],
    *,
    class_names: Sequence[str] | None = None,
    seed: int = 0,
) -> Figure:
    """One t-SNE panel per embedding, nodes coloured by label; nodes without one (``-1``) in grey behind the others."""
    figure = Figure(figsize=(4.8 * len(embeddings), 5.0), layout="constrained")
    panels = figure.subplots(1, len(embeddings), squeeze=False)[0]
    classes = sorted(set(y.tolist()) - {-1})
    for panel, (title, z) in zip(panels, embeddings.items(), strict=True):
        xy = plane(z, seed=seed)
        panel.scatter(*xy[y == -1].T, s=4, color="#dddddd", linewidths=0)
        for number in classes:
            label = class_names[number] if class_names else f"class {number}"
            colour = CATEGORIES[number % len(CATEGORIES)]
            panel.scatter(*xy[y == number].T, s=5, color=colour, linewidths=0, label=label)
        panel.set(title=title, xticks=[], yticks=[], aspect="equal")
        panel.spines[:].set_visible(False)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, markerscale=3, fontsize=8)
    return figure


def plane(z: NDArray[np.float32], *, seed: int = 0) -> NDArray[np.float64]:
    """t-SNE of unit rows, started from their principal components."""
    length = np.linalg.norm(z, axis=1, keepdims=True)
    rows = z / np.where(length > 0, length, 1)
    perplexity = min(30, max(2, (len(z) - 1) / 4))
    result: NDArray[np.float64] = TSNE(2, perplexity=perplexity, init="pca", random_state=seed).fit_transform(rows)
    return result
