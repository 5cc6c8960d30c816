"""Parts of the registry for the length of a test."""

from __future__ import annotations

from typing import Any

import pytest

from sfa import registry


def replace_part(monkeypatch: pytest.MonkeyPatch, kind: str, name: str, part: Any) -> None:
    """Register a part, in place of another of that name if there is one, until the test ends."""
    registry.registered(kind)  # the built-in ones are then registered, and stay so
    monkeypatch.setitem(registry._parts[kind], name, part)
