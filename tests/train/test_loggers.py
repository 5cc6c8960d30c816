"""What loggers write is read back by the programs they write for; none of them can take a run down with it."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.registry import registered, resolve
from sfa.run import Recipe
from sfa.train import LoggerCallback, train
from sfa.train.loggers import Logger, Loggers, Row, TensorBoard, WeightsAndBiases
from tests.parts import replace_part

SETTINGS = {"method": {"name": "grace", "tau": 0.4, "edge_drop": [0.2, 0.4]}, "training": {"patience": None}}


def row(epoch: int) -> dict[str, Any]:
    diagnostics = {"sigma": [3.0, 2.0, 1.0 / epoch], "effective_rank": 2.5, "alignment": None}
    return {"epoch": epoch, "loss": 1 / epoch, "lr": 0.01, "seconds": 10.0 * epoch, "diagnostics": diagnostics}


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WANDB_MODE", "WANDB_PROJECT", "WANDB_NAME", "WANDB_RUN_ID"):
        monkeypatch.delenv(name, raising=False)


def events(folder: Path) -> Any:
    """What TensorBoard itself makes of an event file."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(folder / "tensorboard"), size_guidance={"scalars": 0, "histograms": 0})
    return accumulator.Reload()


def raw_steps(folder: Path, tag: str) -> list[int]:
    """Steps of a curve as they lie in the files, by a reader that forgets nothing."""
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    found = []
    for file in sorted((folder / "tensorboard").iterdir()):
        for record in RawEventFileLoader(str(file)).Load():
            event = Event.FromString(record)
            found += [event.step for value in event.summary.value if value.tag == tag]
    return found


def offline_records(file: Path) -> list[Any]:
    """The records of an offline run: LevelDB's log format after seven bytes."""
    from wandb.proto.wandb_internal_pb2 import Record

    content, position, records, record = file.read_bytes(), 7, [], b""
    while position + 7 <= len(content):
        left = 32768 - position % 32768
        if left < 7:
            position += left
            continue
        _, length, kind = struct.unpack("<IHB", content[position : position + 7])
        record += content[position + 7 : position + 7 + length]
        position += 7 + length
        if kind in (1, 4):  # whole, or the last part
            records.append(Record.FromString(record))
            record = b""
    return records


def history(records: Sequence[Any]) -> list[dict[str, str]]:
    """Rows of an offline run, by path, in JSON."""
    rows = [record.history for record in records if record.WhichOneof("record_type") == "history"]
    return [{".".join(item.nested_key) or item.key: item.value_json for item in one.item} for one in rows]


def test_tensorboard_has_every_number_at_its_epoch(tmp_path: Path) -> None:
    logger = TensorBoard(tmp_path, SETTINGS)
    for epoch in (1, 2, 3):
        logger.log(row(epoch))
    logger.log({"epoch": 3, "scores": {"honest-10-10-80": {"accuracy": 81.5, "accuracy_std": None}}})
    logger.close()
    read = events(tmp_path)
    assert set(read.Tags()["scalars"]) == {
        *("loss", "lr", "seconds"),
        *("diagnostics/effective_rank", "scores/honest-10-10-80/accuracy"),
    }
    assert [(one.step, one.value) for one in read.Scalars("loss")] == [(1, 1), (2, 0.5), (3, pytest.approx(1 / 3))]
    assert [(one.step, one.value) for one in read.Scalars("scores/honest-10-10-80/accuracy")] == [(3, 81.5)]
    times = [one.wall_time for one in read.Scalars("loss")]
    assert [time - times[0] for time in times] == pytest.approx([0, 10, 20], abs=1e-3), "those of training"
    first, *_, last = read.Histograms("diagnostics/sigma")
    assert (first.step, last.step, last.histogram_value.num) == (1, 3, 3)
    assert last.histogram_value.sum == pytest.approx(5 + 1 / 3)
    assert str(tmp_path) in logger.hint()


def test_tensorboard_has_the_recipe_as_hyper_parameters(tmp_path: Path) -> None:
    from tensorboard.plugins.hparams import plugin_data_pb2

    TensorBoard(tmp_path, SETTINGS).close()
    read = events(tmp_path)
    content = read.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    chosen = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info.hparams
    assert set(chosen) == {"method/name", "method/tau", "method/edge_drop"}, "what is not set is not shown"
    assert chosen["method/tau"].number_value == 0.4
    assert chosen["method/edge_drop"].string_value == "[0.2, 0.4]"
    (shown,) = read.Tensors("recipe/text_summary")
    assert b"edge_drop" in shown.tensor_proto.string_val[0]


def test_a_log_that_goes_on_has_no_step_twice(tmp_path: Path) -> None:
    """Killed at epoch 5 with a checkpoint of epoch 3: epochs 4 and 5 come again."""
    logger = TensorBoard(tmp_path, SETTINGS)
    for epoch in range(1, 6):
        logger.log(row(epoch))
    logger.close()
    again = TensorBoard(tmp_path, SETTINGS, [row(epoch) for epoch in (1, 2, 3)])
    for epoch in (4, 5, 6):
        again.log({**row(epoch), "loss": 7.0})
    again.close()
    assert raw_steps(tmp_path, "loss") == [1, 2, 3, 4, 5, 6]
    assert [one.value for one in events(tmp_path).Scalars("loss")][2:] == [pytest.approx(1 / 3), 7, 7, 7]
    assert raw_steps(tmp_path, "diagnostics/sigma") == [1, 2, 3, 4, 5, 6]


def test_a_tensorboard_that_is_open_forgets_the_old_file(tmp_path: Path) -> None:
    logger = TensorBoard(tmp_path, SETTINGS)
    logger.log(row(1))
    logger.log(row(2))
    logger.close()
    watching = events(tmp_path)
    again = TensorBoard(tmp_path, SETTINGS, [row(1)])
    for epoch in (2, 3):
        again.log({**row(epoch), "loss": 7.0})
    assert [(one.step, one.value) for one in watching.Reload().Scalars("loss")] == [(1, 1.0), (2, 7.0), (3, 7.0)]
    again.close()
    TensorBoard(tmp_path, SETTINGS, [row(1)]).close()
    assert [one.value for one in watching.Reload().Scalars("loss")] == [1.0]
    assert [one.value for one in events(tmp_path).Scalars("loss")] == [1.0]
    assert len(list((tmp_path / "tensorboard").iterdir())) == 2, "the new file, and the one that was read before"


@pytest.mark.slow
def test_weights_and_biases_offline(tmp_path: Path) -> None:
    """One test, as beginning takes seconds: a run, and the same run again after an interruption."""
    import wandb

    folder = tmp_path / "my run"
    folder.mkdir()
    logger = WeightsAndBiases(folder, SETTINGS)
    logger.log(row(1))
    logger.log(row(2))
    logger.close()
    (first,) = (folder / "wandb").glob("offline-run-*")
    again = WeightsAndBiases(folder, SETTINGS, [row(1)])
    again.log(row(2))
    again.log({"epoch": 2, "scores": {"knn": {"accuracy": 81.5}}})
    again.close()
    wandb.teardown()  # at the end of the program at the latest: its own process has then written everything
    (file,) = (folder / "wandb").glob("offline-run-*/*.wandb")
    names = [path.name.split("-")[3] for path in (file.parent, first)]  # a "-1" follows where both began in one second
    assert names[0] == names[1], "it is the same run"
    hint = again.hint()
    assert hint is not None
    assert "wandb sync" in hint
    assert str(file.parent) in hint
    records = offline_records(file)
    rows = history(records)
    assert [one["_step"] for one in rows] == ["1", "2"]
    assert [float(one["loss"]) for one in rows] == [1, 0.5]
    assert rows[1]["scores/knn/accuracy"] == "81.5"
    assert rows[0]["diagnostics/sigma._type"] == '"histogram"'
    assert "diagnostics/alignment" not in rows[0]
    (begun,) = [record.run for record in records if record.WhichOneof("record_type") == "run"]
    assert (begun.project, begun.display_name) == ("sfa", "my run")
    config = {update.key: update.value_json for update in begun.config.update}
    assert '"tau":0.4' in config["method"].replace(" ", "")


def test_weights_and_biases_disabled_has_nothing_to_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "disabled")
    with Loggers(["wandb"], pytest.fail) as loggers:
        loggers.open(tmp_path, SETTINGS)
        loggers.log(row(1))
        assert loggers.hints() == []


def test_weights_and_biases_asks_nobody_at_the_keyboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import wandb

    asked: list[Any] = []
    monkeypatch.setenv("WANDB_MODE", "online")
    monkeypatch.setattr(wandb, "login", lambda **given: asked.append(given))
    with pytest.raises(InputError, match="run `wandb login` first"):
        WeightsAndBiases(tmp_path, SETTINGS)
    assert asked == [{"prompt": False}]
    monkeypatch.setattr(wandb, "login", lambda: pytest.fail("an older version would ask"))
    monkeypatch.setattr(wandb, "api", SimpleNamespace(api_key=None))
    with pytest.raises(InputError, match="nobody is logged in"):
        WeightsAndBiases(tmp_path, SETTINGS)


class Failing(Logger):
    """Takes a row and fails at the next."""

    package = "json"
    made: ClassVar[list[Failing]] = []

    def __init__(self, folder: Path, settings: Mapping[str, Any], rows: Sequence[Row] = ()) -> None:
        self.rows: list[Row] = []
        self.closed = False
        self.made.append(self)

    def log(self, row: Row) -> None:
        if self.rows:
            raise OSError(28, "No space left\non device")
        self.rows.append(row)

    def close(self) -> None:
        self.closed = True

    def hint(self) -> str | None:
        return "nothing"


class Unshown(Failing):
    """Has nothing to show."""

    def hint(self) -> str | None:
        return None


class Confused(Failing):
    """Does not know where it wrote."""

    def hint(self) -> str:
        raise RuntimeError("where?")


class Stillborn(Failing):
    def __init__(self, folder: Path, settings: Mapping[str, Any], rows: Sequence[Row] = ()) -> None:
        raise RuntimeError("no service.")


def test_a_logger_that_fails_is_told_of_and_training_goes_on(
    planted: Data, small_recipe: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_part(monkeypatch, "logger", "failing", Failing)
    replace_part(monkeypatch, "logger", "stillborn", Stillborn)
    told: list[str] = []
    recipe = small_recipe(training__epochs=4, training__diagnose_every=2)
    with Loggers(["failing", "stillborn", "tensorboard"], told.append) as loggers:
        loggers.open(tmp_path, recipe.as_dict())
        train(recipe.build_for(planted), planted, **recipe.training.arguments, callbacks=[LoggerCallback(loggers)])
        (hint,) = loggers.hints()
    goes_on = "the run goes on, and its metrics.jsonl has every epoch."
    assert told == [
        f"Logging to stillborn has ended (RuntimeError: no service); {goes_on}",
        f"Logging to failing has ended (OSError: [Errno 28] No space left on device); {goes_on}",
    ]
    failed = Failing.made[-1]
    assert (len(failed.rows), failed.closed) == (1, True)
    assert hint.startswith("tensorboard --logdir ")
    assert [one.step for one in events(tmp_path).Scalars("loss")] == [1, 2, 3, 4]
    assert [one.step for one in events(tmp_path).Histograms("diagnostics/sigma_tilde")] == [1, 2, 4]


def test_hints_are_of_those_that_have_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, logger in {"failing": Failing, "unshown": Unshown, "confused": Confused}.items():
        replace_part(monkeypatch, "logger", name, logger)
    told: list[str] = []
    with Loggers(["confused", "unshown", "failing"], told.append) as loggers:
        loggers.open(tmp_path, SETTINGS)
        assert loggers.hints() == ["nothing"]
    (sentence,) = told
    assert sentence.startswith("Logging to confused has ended (RuntimeError: where?);")


def test_a_full_disk_ends_the_log_alone(tmp_path: Path) -> None:
    import resource

    told: list[str] = []
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Loggers(["tensorboard"], told.append) as loggers:
        loggers.open(tmp_path, SETTINGS)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, limits[1]))
        try:
            for epoch in range(1, 200):
                loggers.log(row(epoch))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert loggers.hints() == []
    assert len(told) == 1
    assert "File too large" in told[0]


def test_only_the_first_process_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfa.distributed.rank", lambda: 1)
    with Loggers(["tensorboard"], print) as loggers:
        loggers.open(tmp_path, SETTINGS)
        loggers.log(row(1))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", list(registered("logger")))
def test_a_missing_package_is_a_sentence(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    logger = resolve("logger", name)
    monkeypatch.setitem(sys.modules, logger.package, None)
    with pytest.raises(InputError) as raised:
        Loggers([name], print)
    assert str(raised.value) == f"Logging to {name} needs the extra `{name}`: pip install 'sfa[{name}]'."


def test_a_logger_of_ones_own_needs_no_more_than_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its path, as on the command line; the rows of a run that goes on come first."""
    (tmp_path / "own_logger.py").write_text(
        "from sfa.train.loggers import Logger\n"
        "class Own(Logger):\n"
        "    seen = []\n"
        "    def log(self, row):\n"
        "        self.seen.append(row['epoch'])\n"
        "class Mute(Logger):\n"
        "    pass\n"
    )
    monkeypatch.chdir(tmp_path)
    told: list[str] = []
    with Loggers(["own_logger:Own", "own_logger:Mute"], told.append) as loggers:
        loggers.open(tmp_path, SETTINGS, [row(1), row(2)])
        loggers.log(row(3))
        assert loggers.hints() == []
    assert resolve("logger", "own_logger:Own").seen == [1, 2, 3]
    (sentence,) = told
    assert "Mute does not say what it logs" in sentence


def test_an_unknown_logger() -> None:
    with pytest.raises(InputError, match="did you mean 'tensorboard'"):
        Loggers(["tensorbord"], print)
