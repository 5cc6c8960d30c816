"""What a short run on Cora changes in each method's own recipe: enough to learn, in a few seconds."""

from typing import Any

SHORT_RUNS: dict[str, dict[str, Any]] = {
    "grace": {"method.hidden": 64, "method.intraview": False, "training.lr": 2e-3, "training.epochs": 15},
    "g-bt": {"method.hidden": 64, "training.epochs": 50},
    "gca": {"method.hidden": 64, "method.intraview": False, "training.lr": 5e-3, "training.epochs": 8},
    "cca-ssg": {"method.hidden": 64, "training.lr": 5e-3, "training.epochs": 10},
    "costa": {"method.hidden": 64, "method.ratio": 0.2, "training.lr": 5e-3, "training.epochs": 8},
    "bgrl": {"method.hidden": 32, "method.prediction": 64, "training.lr": 5e-3, "training.epochs": 40},
    "sugrl": {"method.hidden": 64, "method.inner": 128, "training.epochs": 25},
    "dgi": {"method.hidden": 64, "training.lr": 5e-3, "training.epochs": 15},
    "mvgrl": {"method.hidden": 64, "method.tolerance": 1e-3, "training.lr": 5e-3, "training.epochs": 15},
    "merit": {
        "method.hidden": 64,
        "method.head_hidden": 128,
        "method.head_width": 64,
        "method.tolerance": 1e-3,
        "sampler": {"name": "random-walks", "batch_size": 256},
        "training.lr": 5e-3,
        "training.epochs": 1,
    },
    "deepwalk": {
        "method.hidden": 32,
        "method.length": 20,
        "method.window": 5,
        "training.lr": 0.03,
        "training.epochs": 2,
    },
    "node2vec": {
        "method.hidden": 32,
        "method.length": 20,
        "method.window": 5,
        "training.lr": 0.03,
        "training.epochs": 2,
    },
    "gae": {"training.epochs": 50},
    "vgae": {"training.epochs": 50},
    "graphcl": {"training.epochs": 10},
    "joao": {"training.epochs": 10, "sampler.batch_size": 32},
    "joao-v2": {"training.epochs": 10, "training.lr": 0.01},
    "simgrace": {"method.eta": 0.1, "training.epochs": 10},
    "infograph": {"training.epochs": 3},
    "lp-info": {"training.epochs": 3},
    "graph-bt": {"training.epochs": 5},
    "graph-bgrl": {"training.epochs": 5},
}
