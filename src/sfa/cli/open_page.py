"""A page shown in the user's browser, where there is one to show it in."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path

from sfa.cli.console import Display


def open_page(path: Path, display: Display) -> None:
    """Open a file in the browser; where nobody could see it, say so."""
    if not _somebody_is_there() or not webbrowser.open(path.resolve().as_uri()):
        display.say(f"--open: there is no browser here to show it; open {path} in one.")


def _somebody_is_there() -> bool:
    """A person at a terminal with windows: a browser of text would take over the terminal."""
    has_windows = sys.platform in ("darwin", "win32") or any(os.environ.get(v) for v in ("DISPLAY", "WAYLAND_DISPLAY"))
    return sys.stderr.isatty() and has_windows
