"""Where training runs."""

from __future__ import annotations

from lightning_fabric import Fabric

from sfa.errors import InputError


def make_fabric(device: str = "auto") -> Fabric:
    """Lightning Fabric on one device: ``auto`` (the best there is), ``cpu``, ``cuda``, ``cuda:1``, ``mps``."""
    name, _, index = device.partition(":")
    try:
        return Fabric(accelerator=name, devices=[int(index)] if index and name != "cpu" else 1)
    except (ValueError, RuntimeError, ImportError) as error:
        raise InputError(
            f"The device {device!r} cannot be used here (`sfa doctor` lists those that can): {error}"
        ) from error
