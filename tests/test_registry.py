"""The registry: names of parts, whoever registered them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import sfa
from sfa import registry
from sfa.data import find, fingerprint, load, names
from sfa.errors import InputError
from sfa.registry import HOMES, is_path, is_ready, known_names, name_of, register, registered, resolve
from sfa.sampling import Sampler, WholeGraph
from tests.parts import replace_part

RunSfa = Callable[..., Any]


@pytest.fixture(autouse=True)
def restored_registry() -> Iterator[None]:
    """Unregister the samplers and data sets that a test registers, and forget the modules that it imports.

    Those of other kinds go by `replace_part`: built-in parts register only once, which a test may have been the first
    to ask for.
    """
    parts, modules = {kind: dict(registered(kind)) for kind in ("sampler", "dataset")}, set(sys.modules)
    yield
    for kind, before in parts.items():
        registry._parts[kind].clear()
        registry._parts[kind].update(before)
    for module in set(sys.modules) - modules:
        if module.startswith(("sfa_user_", "my_")):
            del sys.modules[module]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """``install("sampler", mine="my_package.module:Class")``, as if a package were installed that says so."""
    entries: list[EntryPoint] = []

    def entry_points(*, group: str, name: str | None = None) -> list[EntryPoint]:
        return [entry for entry in entries if entry.group == group and name in (None, entry.name)]

    monkeypatch.setattr(registry, "entry_points", entry_points)

    def add(kind: str, **paths: str) -> None:
        entries.extend(EntryPoint(name, path, f"sfa.{kind}") for name, path in paths.items())

    return add


class Mine(WholeGraph):
    """The whole graph, my way."""


class TestRegister:
    def test_as_a_function(self) -> None:
        assert register("sampler", "mine", Mine) is Mine
        assert resolve("sampler", "mine") is Mine
        assert list(registered("sampler"))[-1] == "mine"
        assert "mine" not in registered("logger")

    def test_as_a_decorator(self) -> None:
        @sfa.register("sampler", "mine")
        class Decorated(WholeGraph): ...

        assert resolve("sampler", "mine") is Decorated
        assert isinstance(Decorated, type)

    def test_a_name_is_given_once(self) -> None:
        class Other(WholeGraph): ...

        register("sampler", "mine", Mine)
        register("sampler", "mine", Mine)
        with pytest.raises(InputError, match="sampler called 'mine' already"):
            register("sampler", "mine", Other)
        with pytest.raises(InputError, match="sampler called 'whole' already"):
            register("sampler", "whole", Mine)
        assert resolve("sampler", "mine") is Mine
        assert resolve("sampler", "whole") is WholeGraph

    def test_what_is_defined_twice_is_replaced(self) -> None:
        def cell() -> type[Sampler]:  # of a notebook
            @register("sampler", "mine")
            class Defined(WholeGraph): ...

            return Defined

        first, second = cell(), cell()
        assert first is not second
        assert resolve("sampler", "mine") is second

    @pytest.mark.parametrize("name", ["", "my sampler", "a:b", "tab\t", None, 3])
    def test_bad_names(self, name: Any) -> None:
        before = dict(registered("sampler"))
        with pytest.raises(InputError, match="word of letters, digits"):
            register("sampler", name, Mine)
        assert registered("sampler") == before

    def test_bad_kinds(self) -> None:
        for call in (lambda: register("samplers", "mine", Mine), lambda: registered("samplers")):
            with pytest.raises(InputError, match="did you mean 'sampler'"):
                call()
        with pytest.raises(InputError, match="Unknown kind of part"):
            resolve("table", "1")

    @pytest.mark.slow
    def test_a_built_in_name_is_refused_before_the_built_in_part_is_imported(self) -> None:
        code = (
            "import sfa\nclass Mine: ...\n"
            "try: sfa.register('sampler', 'whole', Mine)\n"
            "except sfa.InputError as error: print(error)\n"
            "import sfa.sampling\nfrom sfa.registry import resolve\nprint(resolve('sampler', 'whole').__name__)"
        )
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        assert said.startswith("There is a sampler called 'whole' already")
        assert said.splitlines()[-1] == "WholeGraph"


def test_what_is_returned_is_a_copy() -> None:
    registered("sampler")["mine"] = Mine  # type: ignore[index]
    assert "mine" not in registered("sampler")


def test_unknown_names() -> None:
    register("sampler", "my-walks", Mine)
    with pytest.raises(InputError, match="did you mean 'my-walks'"):
        resolve("sampler", "my-walk")
    with pytest.raises(InputError, match="Unknown protocol 'honest': did"):
        resolve("protocol", "honest")
    with pytest.raises(InputError, match="did you mean 'wandb'"):
        resolve("logger", "wandbb")


def test_the_registry_imports_nothing_but_what_is_asked_for() -> None:
    code = (
        "import sys, sfa; sfa.register; print(sorted(one for one in sys.modules if one.startswith(('sfa', 'torch'))))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "['sfa', 'sfa.deprecated', 'sfa.errors', 'sfa.registry']"


def test_every_kind_has_a_package_of_its_own() -> None:
    assert len(set(HOMES.values())) == len(HOMES)
    assert set(HOMES) == set(registry._parts)


class TestPaths:
    SOURCE = "from sfa.sampling import WholeGraph\n\nclass Mine(WholeGraph):\n    '''My own.'''\n"

    def test_a_module_in_the_current_folder(self, here: Path) -> None:
        (here / "my_samplers.py").write_text(self.SOURCE)
        found = resolve("sampler", "my_samplers:Mine")
        assert (found.__module__, found.__name__) == ("my_samplers", "Mine")
        assert resolve("sampler", "my_samplers:Mine") is found
        assert str(here) not in sys.path
        assert "my_samplers:Mine" not in registered("sampler")

    def test_a_module_of_a_package(self, here: Path) -> None:
        (here / "my_package").mkdir()
        (here / "my_package" / "parts.py").write_text(self.SOURCE)
        assert resolve("sampler", "my_package.parts:Mine").__doc__ == "My own."

    def test_a_file(self, here: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
        other = tmp_path_factory.mktemp("other folder") / "parts.py"
        other.write_text(self.SOURCE)
        (here / "parts.py").write_text(self.SOURCE.replace("My own", "Here"))
        found = resolve("sampler", f"{other}:Mine")
        assert found.__doc__ == "My own."
        assert resolve("sampler", f"{other}:Mine") is found
        assert resolve("sampler", "parts.py:Mine").__doc__ == "Here."

    def test_an_attribute_that_is_not_there(self, here: Path) -> None:
        (here / "my_samplers.py").write_text(self.SOURCE)
        for path in ("my_samplers:Mime", "my_samplers.py:Mime"):
            module = path.partition(":")[0]
            with pytest.raises(
                InputError, match=rf"^Unknown sampler of {module} 'Mime'.* Allowed: Mine, WholeGraph\.$"
            ):
                resolve("sampler", path)

    @pytest.mark.parametrize("path", ["my_broken:Mine", "my_broken.py:Mine"])
    def test_a_module_that_cannot_be_imported(self, path: str, here: Path) -> None:
        (here / "my_broken.py").write_text("1 / 0\n")
        with pytest.raises(InputError, match=rf"^The sampler {path} cannot be imported: ZeroDivisionError: .*$"):
            resolve("sampler", path)
        (here / "my_broken.py").write_text(self.SOURCE + "# mended\n")
        assert resolve("sampler", path).__name__ == "Mine"

    def test_a_module_that_is_not_there(self, here: Path) -> None:
        with pytest.raises(
            InputError,
            match="my_none:Mine cannot be imported",
        ):
            resolve("sampler", "my_none:Mine")
        with pytest.raises(InputError, match=rf"^There is no file {here / 'my_none.py'}\.$"):
            resolve("sampler", "my_none.py:Mine")

    def test_a_module_that_lacks_another(self, here: Path) -> None:
        """It is the other one that is not there."""
        (here / "my_lacking.py").write_text("import my_none\n")
        with pytest.raises(InputError, match="The sampler my_lacking:Mine cannot"):
            resolve("sampler", "my_lacking:Mine")

    def test_classes_have_names(self, here: Path) -> None:
        """Their own, or the path by which they can be imported, or else one that they are registered by."""
        (here / "my_named.py").write_text(self.SOURCE)
        mine = resolve("sampler", "my_named:Mine")
        assert name_of("sampler", WholeGraph) == "whole"
        assert name_of("sampler", mine) == "my_named:Mine"
        assert "Mine" not in registered("sampler")

        class Inner(WholeGraph):
            pass

        assert name_of("sampler", Inner) == "Inner"
        assert resolve("sampler", "Inner") is Inner
        assert name_of("sampler", Inner) == "Inner"

    @pytest.mark.parametrize("name", ["whole", "a:b:c", ":Mine", "my_module:", "my module:Mine", "my_module:a.b"])
    def test_what_is_no_path(self, name: str) -> None:
        assert not is_path(name)
        if name != "whole":
            with pytest.raises(InputError, match=r"^Unknown sampler"):
                resolve("sampler", name)


class TestInstalledPackages:
    def test_are_found_by_their_entry_points(self, here: Path, install: Callable[..., None]) -> None:
        (here / "my_package.py").write_text(TestPaths.SOURCE)
        sys.path.insert(0, str(here))
        try:
            install("sampler", mine="my_package:Mine")
            assert known_names("sampler")[-1] == "mine"
            assert "my_package" not in sys.modules
            assert list(registered("sampler"))[-1] == "mine"
            assert resolve("sampler", "mine") is sys.modules["my_package"].Mine
            assert "mine" not in registered("logger")
        finally:
            sys.path.remove(str(here))

    def test_do_not_replace_built_in_parts(self, install: Callable[..., None]) -> None:
        install("sampler", whole="my_none:Mine")
        assert registered("sampler")["whole"] is WholeGraph

    def test_that_are_broken_are_named(self, install: Callable[..., None]) -> None:
        install("sampler", mine="my_broken_package.module:Mine")
        says = (
            "^The sampler 'mine' of the installed package my_broken_package cannot be loaded: ModuleNotFoundError: No"
        )
        for call in (lambda: registered("sampler"), lambda: resolve("sampler", "mine")):
            with pytest.raises(InputError, match=says) as caught:
                call()
            assert "\n" not in str(caught.value)

    def test_that_are_broken_leave_other_names_alone(self, install: Callable[..., None]) -> None:
        install("sampler", broken="my_none:Mine", mine="sfa.sampling:WholeGraph")
        assert resolve("sampler", "whole") is WholeGraph
        assert resolve("sampler", "mine") is WholeGraph
        with pytest.raises(InputError, match="did you mean 'broken'"):
            resolve("sampler", "brokem")


RING = "Data(x=torch.eye(12), edge_index=torch.tensor([[i for i in range(12)], [(i + 1) % 12 for i in range(12)]]))"


class TestDataSets:
    @pytest.fixture
    def graph(self) -> Data:
        return sfa.data.build_graph(np.eye(12), np.stack([np.arange(12), (np.arange(12) + 1) % 12]))

    def test_a_function_is_a_data_set(self, graph: Data, tmp_path: Path) -> None:
        asked = []

        @sfa.register("dataset", "my-Ring")
        def ring(root: Path) -> Data:
            """A ring of twelve nodes.

            More of it.
            """
            asked.append(root)
            return Data(x=torch.eye(12), edge_index=torch.tensor([range(12), [*range(1, 12), 0]]))

        loaded = load("my-Ring", root=tmp_path)
        assert fingerprint(loaded) == fingerprint(graph), "checked and made undirected"
        assert loaded.name == "my-Ring"
        assert asked == [tmp_path]
        info = names()[-1]
        assert (info.name, info.description, info.task) == ("my-Ring", "A ring of twelve nodes.", None)
        assert (info.bundled, info.downloaded) == (False, False)
        assert info.loader is not None
        assert info.loader.endswith("ring")
        assert find("my-Ring") == info
        with pytest.raises(InputError, match="so leave out node_features="):
            load("my-Ring", node_features="degree")

    def test_names_are_found_in_any_case(self, graph: Data) -> None:
        register("dataset", "ring", lambda root: graph)
        assert load("RING").name == "ring"
        assert find("rings") is None
        with pytest.raises(InputError, match="did you mean 'ring'"):
            load("rings")

    def test_sets_of_graphs_and_of_images(self, molecule_list: list[Data], molecules: Data, pictures: Data) -> None:
        register("dataset", "list", lambda root: molecule_list)
        register("dataset", "set", lambda root: molecules)
        register("dataset", "images", lambda root: pictures)
        assert fingerprint(load("list")) == fingerprint(load("set")) == fingerprint(molecules)
        assert (load("list").name, load("images").name) == ("list", "images")
        assert fingerprint(load("images")) == fingerprint(pictures)

    def test_the_level_can_be_said_before_loading(self, graph: Data, molecules: Data) -> None:
        def load_molecules(root: Path) -> Data:
            return molecules

        load_molecules.task = "graph"  # type: ignore[attr-defined]
        register("dataset", "molecules", load_molecules)
        assert names()[-1].task == "graph"
        assert load("molecules").num_nodes == molecules.num_nodes
        load_molecules.task = "node"  # type: ignore[attr-defined]
        with pytest.raises(InputError, match=r"load_molecules\.task to 'graph', not"):
            load("molecules")
        load_molecules.task = "nodes"  # type: ignore[attr-defined]
        with pytest.raises(InputError, match="did you mean 'node'"):
            names()

    def test_what_goes_wrong_is_said(self, here: Path) -> None:
        def fail(root: Path) -> Data:
            raise KeyError("column")

        register("dataset", "failing", fail)
        with pytest.raises(InputError, match="data set failing could"):
            load("failing")
        register("dataset", "number", lambda root: 3)
        with pytest.raises(InputError, match="no set of graphs"):
            load("number")
        register("dataset", "data", Data())
        with pytest.raises(InputError, match="register a function that"):
            load("data")

    def test_a_function_by_its_path(self, here: Path) -> None:
        (here / "my_data.py").write_text(
            f"import torch\nfrom torch_geometric.data import Data\ndef ring(root): return {RING}"
        )
        for path in ("my_data:ring", "my_data.py:ring", str(here / "my_data.py:ring")):
            loaded = load(path)
            assert (loaded.num_nodes, loaded.name) == (12, "ring")
        with pytest.raises(InputError, match="did you mean 'ring'"):
            load("my_data:rang")

    def test_tu_sets_come_first(self, here: Path) -> None:
        (here / "tu.py").write_text("def NCI1(root): raise AssertionError")
        info = find("tu:NCI1")
        assert info is not None
        assert (info.task, info.loader) == ("graph", None)


class TestCommandLine:
    SOURCE = (
        "import torch\nfrom torch_geometric.data import Data\n\n"
        f"def ring(root):\n    '''A ring of twelve nodes.'''\n    return {RING}\n"
    )

    def test_registered_data_sets(self, run_sfa: RunSfa, here: Path, install: Callable[..., None]) -> None:
        (here / "my_data.py").write_text(self.SOURCE)
        install("dataset", **{"my-ring": "my_data:ring"})
        sys.path.insert(0, str(here))
        try:
            listed = run_sfa("list", "datasets").out.splitlines()
            assert listed[-1].split("  ")[0] == "my-ring"
            for word in ("A ring of twelve nodes.", "loaded by my_data.ring"):
                assert word in listed[-1]
            result = run_sfa("train", "my-ring", epochs=1, out=here / "run")
            assert result.code == 0, result.err
            assert run_sfa("embed", here / "run", out=here / "z.csv").code == 0
        finally:
            sys.path.remove(str(here))
        assert len((here / "z.csv").read_text().splitlines()) == 13

    def test_data_sets_by_path(self, run_sfa: RunSfa, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (here / "my_data.py").write_text(self.SOURCE)
        result = run_sfa("train", "my_data.py:ring", epochs=1)
        assert result.code == 0, result.err
        (run,) = (here / "runs").iterdir()
        assert run.name.startswith("ring-")
        (here / "elsewhere").mkdir()
        monkeypatch.chdir(here / "elsewhere")
        assert run_sfa("embed", run, out=here / "z.csv").code == 0, "the file is recorded by its whole path"

    @pytest.mark.parametrize("listed", ["methods", "spectral", "samplers", "loggers"])
    def test_lists_show_registered_classes(self, listed: str, run_sfa: RunSfa, monkeypatch: pytest.MonkeyPatch) -> None:
        class Part:
            """My own part."""

            task = "node"

        replace_part(monkeypatch, listed.removesuffix("s"), "mine", Part)
        line = run_sfa("list", listed).out.splitlines()[-1]
        assert line.split()[0] == "mine"
        assert "My own part." in line

    @pytest.mark.parametrize(
        ("kind", "listed"), [("protocol", "protocols"), ("study", "studies"), ("figure", "figures")]
    )
    def test_lists_show_registered_objects(
        self, kind: str, listed: str, run_sfa: RunSfa, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = next(iter(registered(kind).values()))
        replace_part(monkeypatch, kind, "mine", other)
        lines = run_sfa("list", listed).out.splitlines()
        (mine,) = (line for line in lines if line.split()[0] == "mine")
        assert other.description.split()[0] in mine
        assert lines.index(mine) == len(lines) - 1


def test_a_function_of_data_and_generator_is_an_augmentation_as_it_is() -> None:
    def views(data: object, generator: object) -> tuple[object, object]:
        return data, data

    def make_views(rate: float = 0.5) -> object:
        return rate

    assert is_ready(views, "augmentation")
    assert not is_ready(make_views, "augmentation")
    assert not is_ready(views, "encoder")
    assert not is_ready(int, "augmentation")


@pytest.mark.parametrize("name", ["../../x", "a b", "a:b", "", "_hidden", "<lambda>"])
def test_names_that_no_file_or_command_could_have_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="name of a protocol"):
        register("protocol", name, object())


def test_gentle_cannot_be_taken() -> None:
    with pytest.raises(InputError, match="gentle"):
        register("spectral", "gentle", object())


def test_files_of_like_names_are_two_modules(tmp_path: Path) -> None:
    for name, value in (("my-part.py", 1), ("my_part.py", 2)):
        (tmp_path / name).write_text(f"class Part:\n    value = {value}\n")
    found = [resolve("encoder", f"{tmp_path / name}:Part").value for name in ("my-part.py", "my_part.py")]
    assert found == [1, 2]


def test_a_misspelled_class_of_a_large_package_gets_the_nearest_and_no_list_of_hundreds() -> None:
    with pytest.raises(InputError) as error:
        resolve("encoder", "torch_geometric.nn:GATT")
    assert str(error.value) == "Unknown encoder of torch_geometric.nn 'GATT': did you mean 'GAT'?"
