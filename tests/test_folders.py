import os
from pathlib import Path

import pytest

from sfa.errors import InputError
from sfa.folders import require_regular_file


def refused(match: str, path: str | Path, **given: object) -> None:
    with pytest.raises(InputError, match=match):
        require_regular_file(path, **given)


def test_only_regular_files_are_read_whatever_a_path_leads_to(tmp_path):
    (tmp_path / "file").write_text("12345")
    (tmp_path / "link").symlink_to("file")
    assert require_regular_file(tmp_path / "link", max_bytes=5) == tmp_path / "link"
    refused("The recipe x has 5 bytes, and at most 4", tmp_path / "link", what="The recipe x", max_bytes=4)

    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to_pipe").symlink_to("pipe")
    (tmp_path / "loop").symlink_to("loop")
    for path in (tmp_path / "pipe", tmp_path / "to_pipe", "/dev/zero"):
        refused("no ordinary file but a pipe, a device", path)
    refused("is a folder; give a file in it", tmp_path)
    refused("does not exist", tmp_path / "none")
    refused("cannot be read: .*symbolic links", tmp_path / "loop")
    refused("cannot be read: .*name too long", tmp_path / ("n" * 300))
    refused("cannot be read: .*null", "a\0b")
    refused("home folder of no known user", "~nosuchuser/x")
