"""The memory that work on a stored graph may hold at a time."""

import pytest

from sfa.errors import InputError
from sfa.memory import free_bytes, set_memory, working_bytes


def test_it_is_what_was_asked_for_or_a_quarter_of_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFA_MEMORY", "1GB")
    set_memory(None)
    assert working_bytes() == 1 << 30
    set_memory("1.5 GiB")
    assert working_bytes() == 3 << 29
    set_memory("500MB")
    assert working_bytes() == 500 << 20
    monkeypatch.delenv("SFA_MEMORY")
    assert 0.1 < working_bytes() / free_bytes() < 0.5


@pytest.mark.parametrize("size", ["2", "much", "-1GB", "0GB", "2TBs"])
def test_anything_but_a_size_is_refused(size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFA_MEMORY", "1GB")
    with pytest.raises(InputError, match="such as 2GB"):
        set_memory(size)
    assert working_bytes() == 1 << 30
