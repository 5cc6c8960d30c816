"""Register the built-in studies, in the order of `sfa list studies`."""

from __future__ import annotations

from sfa.registry import register
from sfa.studies import definitions
from sfa.studies.study import RUN_TIME, Study

_STUDIES = (
    Study("ablation", definitions.ablation),
    Study("iterations", definitions.iterations),
    Study("passes", definitions.passes),
    Study("noisy-features", definitions.noisy_features),
    Study("noisy-edges", definitions.noisy_edges),
    Study("spectral-maps", definitions.spectral_maps),
    Study("kappa", definitions.kappa),
    Study("clustering", definitions.clustering, protocols=("clustering",), many_methods=True),
    Study(RUN_TIME, definitions.run_time, protocols=(RUN_TIME,), epochs=50),
    Study("run-time-k", definitions.run_time_by_iterations, protocols=(RUN_TIME,), epochs=50),
    Study("map-run-time", definitions.map_run_time, protocols=(RUN_TIME,), epochs=50),
    Study("methods", definitions.methods, many_methods=True),
)

for _study in _STUDIES:
    register("study", _study.name, _study)
