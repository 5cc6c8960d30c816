"""The package as one imports it."""

import subprocess
import sys

import pytest


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
def test_parts_are_there_without_being_imported_by_name() -> None:
    code = "import sfa; print(sfa.spectral.power_iteration.__name__, 'losses' in dir(sfa))"
    assert run(code).split() == ["power_iteration", "True"]


@pytest.mark.slow
def test_the_layer_needs_no_graph_library_and_help_not_even_torch() -> None:
    code = "import sys, sfa; {}; print(sorted({{'torch', 'torch_geometric', 'sklearn'}} & sys.modules.keys()))"
    assert run(code.format("sfa.SpectralFeatureAugmentation")) == "['torch']\n"
    assert run(code.format("import sfa.cli.app")) == "[]\n"


@pytest.mark.slow
def test_the_layer_does_not_import_the_compiler_or_scipy() -> None:
    code = "import sys, torch; before = set(sys.modules); import sfa; sfa.SpectralFeatureAugmentation(); "
    code += "print(sorted({'torch._dynamo', 'sympy', 'scipy'} & (sys.modules.keys() - before)))"
    assert run(code) == "[]\n"


def test_an_unknown_name_is_an_attribute_error() -> None:
    import sfa

    assert not hasattr(sfa, "nonsense")


@pytest.mark.slow
def test_every_public_name_is_there() -> None:
    code = "import sfa; print([name for name in sfa.__all__ if not hasattr(sfa, name) or name not in dir(sfa)])"
    assert run(code) == "[]\n"


def test_nothing_but_public_names_is_listed() -> None:
    import sfa

    assert not [name for name in dir(sfa) if name.startswith("_") and name != "__version__"]
    assert not {"Any", "TYPE_CHECKING", "import_module", "version", "deprecated"} & set(dir(sfa))
