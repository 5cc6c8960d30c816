"""What is published: a wheel and an archive of the sources that hold all they should, and a wheel that works."""

from __future__ import annotations

import email
import email.message
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BUILD = "import sys; from setuptools import build_meta; getattr(build_meta, f'build_{sys.argv[1]}')(sys.argv[2])"


def build(kind: str, tree: Path, out: Path) -> Path:
    """What ``python -m build --no-isolation`` has setuptools do, with nothing to be downloaded."""
    out.mkdir()
    done = subprocess.run([sys.executable, "-c", BUILD, kind, str(out)], cwd=tree, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (made,) = out.iterdir()
    return made


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources without what is made of them: builds leave traces, and old traces change builds."""
    copy = tmp_path_factory.mktemp("packaging") / "tree"
    left_out = shutil.ignore_patterns(".*", "*.egg-info", "__pycache__", "build", "dist", "runs", "site")
    shutil.copytree(ROOT, copy, ignore=left_out)
    return copy


@pytest.fixture(scope="module")
def sdist(tree: Path) -> Path:
    return build("sdist", tree, tree.parent / "sdist")


@pytest.fixture(scope="module")
def wheel(sdist: Path) -> Path:
    """Built of the archive, as an installer builds it."""
    with tarfile.open(sdist) as archive:
        archive.extractall(sdist.parent.parent, filter="data")
    return build("wheel", sdist.parent.parent / sdist.name.removesuffix(".tar.gz"), sdist.parent.parent / "wheel")


def metadata(wheel: Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_string(archive.read(name).decode())


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(tree: Path, wheel: Path) -> None:
    package = {path.relative_to(tree / "src").as_posix() for path in (tree / "src").rglob("*") if path.is_file()}
    package = {name for name in package if not name.split("/")[0].endswith(".egg-info")}
    assert {"sfa/py.typed", "sfa/sweep/ranges/grace.yaml", "sfa/run/recipes/paper.yaml"} <= package
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == package, "data of a new package are named in pyproject.toml, [tool.setuptools.package-data]"


def test_the_sources_hold_what_builds_checks_and_explains_them(tree: Path, sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    expected = {
        path.relative_to(tree).as_posix()
        for folder in ("src/sfa", "tests", "docs", "examples", "benchmarks", "tools")
        for path in (tree / folder).rglob("*")
        if path.is_file()
    }
    files = {"constraints.txt", "Makefile", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md"}
    assert expected | files <= held, sorted((expected | files) - held)
    assert not [name for name in held if name.endswith(".pyc") or "__pycache__" in name or name.startswith(".venv")]


def test_a_wheel_of_the_tree_is_the_same(tree: Path, wheel: Path) -> None:
    direct = build("wheel", tree, tree.parent / "direct")
    assert direct.name == wheel.name
    with zipfile.ZipFile(direct) as one, zipfile.ZipFile(wheel) as other:
        assert sorted(one.namelist()) == sorted(other.namelist())
        different = [name for name in one.namelist() if one.read(name) != other.read(name)]
    assert [name for name in different if not name.endswith("/RECORD")] == []


def test_what_it_says_of_itself(tree: Path, wheel: Path) -> None:
    told = metadata(wheel)
    version = told["Version"]
    assert wheel.name == f"sfa-{version}-py3-none-any.whl"
    assert told["License-Expression"] == "Apache-2.0"
    assert told["Requires-Python"] == ">=3.10"
    assert {"images", "large", "dev"} <= set(told.get_all("Provides-Extra") or [])
    assert told["Description-Content-Type"] == "text/markdown"
    assert told.get_payload() == (tree / "README.md").read_text(encoding="utf-8")
    assert f"version: {version}\n" in (tree / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {version}" in (tree / "CHANGELOG.md").read_text(encoding="utf-8"), "a release is told of"
    spelt_out = [path for path in (tree / "src").rglob("*.py") if f'"{version}"' in path.read_text(encoding="utf-8")]
    assert spelt_out == [], "the version stands in pyproject.toml alone"


@pytest.mark.slow
def test_the_wheel_works_from_any_folder(wheel: Path, tmp_path: Path) -> None:
    target, elsewhere = tmp_path / "installed", tmp_path / "elsewhere"
    elsewhere.mkdir()
    install = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", str(target), str(wheel)]
    environment = {**os.environ, "PYTHONPATH": str(target), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words], cwd=elsewhere, env=environment, check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(*install)
    assert run(str(target / "bin" / "sfa"), "--version") == f"{metadata(wheel)['Version']}\n"
    code = """if True:
        from pathlib import Path

        import sfa
        from sfa.cli import main
        from sfa.run import shipped_recipes
        from sfa.sweep import shipped_ranges

        assert Path(sfa.__file__).is_relative_to({target!r}), sfa.__file__
        assert "paper/cora" in shipped_recipes() and "grace" in shipped_ranges()
        try:
            main("train cora --epochs 1 --hidden 8 --no-evaluate --quiet --threads 1".split())
        except SystemExit as ended:
            assert not ended.code
        print(sfa.__version__)
    """
    assert run("-W", "ignore", "-c", code.format(target=str(target))) == f"{metadata(wheel)['Version']}\n"
    assert (elsewhere / "runs" / "cora-neighbor-contrast-none" / "checkpoint.safetensors").exists()
