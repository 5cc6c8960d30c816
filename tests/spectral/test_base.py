"""Names of spectral maps."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import sfa
from sfa.errors import InputError
from sfa.registry import registered, resolve
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap


def test_none_is_the_empty_slot_and_sfa_comes_next() -> None:
    h = torch.randn(4, 3)
    assert resolve("spectral", "none")()(h) is h
    assert resolve("spectral", "sfa") is SpectralFeatureAugmentation
    assert list(registered("spectral"))[:2] == ["none", "sfa"]


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'sfa'"):
        resolve("spectral", "sfaa")


def test_all_maps_of_a_step_get_their_own_draw() -> None:
    h = torch.randn(12, 5, generator=torch.Generator().manual_seed(0))
    alpha, beta = SpectralFeatureAugmentation(0).forward_all(h, h, generator=torch.Generator().manual_seed(1))
    assert not torch.allclose(alpha, beta)
    assert SpectralMap().forward_all(h, h) == (h, h)


@pytest.mark.slow
def test_a_new_map_in_the_package_needs_its_file_alone(tmp_path: Path) -> None:
    shutil.copytree(Path(sfa.__file__).parent, tmp_path / "sfa")
    (tmp_path / "sfa/spectral/absent_mindedness.py").write_text(
        "from sfa.registry import register\n"
        "from sfa.spectral.base import SpectralMap\n"
        '@register("spectral", "forget")\n'
        "class Forget(SpectralMap):\n"
        "    pass\n"
    )
    code = "from sfa.registry import registered; print(*registered('spectral'))"
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    names = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    assert set(names.stdout.split()) == {*registered("spectral"), "forget"}
