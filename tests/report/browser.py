"""Headless Chromium for tests: one browser, nothing of the user's, and all that it says and asks for is kept."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

HOW = "Chromium is not installed: `apt-get install chromium chromium-driver` brings it and its driver."

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


@contextmanager
def chromium(profile: Path) -> Iterator[Chrome]:
    """A browser whose profile is the given empty folder. Where there is none, the test is skipped; in CI it fails."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        if "CI" in os.environ:
            pytest.fail(HOW)
        pytest.skip(HOW)
    options = ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = Chrome(options=options, service=Service(driver))
    try:
        yield browser
    finally:
        browser.quit()


def said(browser: Chrome) -> list[str]:
    """What the console was told since the last call: errors, warnings, and plain messages too."""
    return [entry["message"] for entry in browser.get_log("browser")]


def asked_for(browser: Chrome) -> list[str]:
    """Addresses that pages asked for since the last call; not what is within them, or within the browser itself."""
    events = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    requests = (event["params"] for event in events if event["method"] == "Network.requestWillBeSent")
    addresses = [request["request"]["url"] for request in requests]
    return [address for address in addresses if not address.startswith(("chrome:", "chrome-untrusted:", "data:"))]


def set_window(browser: Chrome, width: int, height: int) -> None:
    """The size of the page; a window of Chromium cannot be as narrow as a phone."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def prefer(browser: Chrome, **features: str) -> None:
    """What the system is said to prefer: ``prefer(browser, color_scheme="dark")``."""
    media = [{"name": f"prefers-{name.replace('_', '-')}", "value": value} for name, value in features.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
