"""Tables of run times."""

from __future__ import annotations

from sfa.studies import RUN_TIME
from sfa.tables.definition import GRAPHS, Definition, Line, labelled, sets_by_variants

SECONDS = {"": "seconds per epoch"}


def _run_time() -> Definition:
    return Definition(
        number=2,
        study=RUN_TIME,
        protocol=RUN_TIME,
        datasets=("cora", "citeseer", "wikics"),
        more_datasets=("pubmed", "photo", "computers"),
        lines=labelled({"without-sfa": "without SFA", "with-sfa": "with SFA"}),
        layout=sets_by_variants,
        metrics=SECONDS,
        notes=(
            "GRACE by its own recipe, trained by turns without and with SFA, so that both see the same machine. × is "
            "the ratio to w/o SFA, turn by turn, with its 95 % interval.",
        ),
    )


def _svd_run_time() -> Definition:
    return Definition(
        number=3,
        study="map-run-time",
        protocol=RUN_TIME,
        datasets=("ogbn-arxiv",),
        more_datasets=GRAPHS,
        lines={
            **labelled({"sfa": "sfa", "svd": "grassmann, svd", "random-svd": "grassmann, randomised"}),
            "none": Line("none", "no map"),
        },
        layout=sets_by_variants,
        metrics=SECONDS,
        notes=(
            "Ours are seconds per epoch of GRACE, trained by turns with each map; SVD and random SVD are Grassmann "
            "feature maps. × is the ratio to SFA, turn by turn, with its 95 % interval.",
        ),
    )


TIME_TABLES = (_run_time(), _svd_run_time())
