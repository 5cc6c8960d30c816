"""Errors that say what was given, what is allowed and what to do next."""

import difflib
from collections.abc import Iterable


class SfaError(Exception):
    """Base of all errors that a user can act on; the command line prints its sentence and no traceback."""

    exit_code = 1


class InputError(SfaError, ValueError):
    """Something given (a file, an option, a name, a graph) cannot be used. Raised before any long work starts."""

    exit_code = 2


class TrainingError(SfaError, RuntimeError):
    """Training itself failed, for instance because the loss is no longer a number."""


def unknown_name(kind: str, given: object, allowed: Iterable[str], *, shown: float = float("inf")) -> InputError:
    """Return the error for a name that does not exist, with the nearest that does, and all if at most ``shown``.

    >>> print(unknown_name("method", "grcae", ["grace", "g-bt"]))
    Unknown method 'grcae': did you mean 'grace'? Allowed: g-bt, grace.
    """
    names = sorted(allowed)
    if not names:
        return InputError(f"Unknown {kind} {given!r}: there are none here.")
    nearest = [
        one for name in (str(given), str(given).lower()) for one in difflib.get_close_matches(name, names, 1, 0.5)
    ]
    hint = f": did you mean {nearest[0]!r}?" if nearest else "."
    listed = f" Allowed: {', '.join(names)}." if len(names) <= shown else ""
    return InputError(f"Unknown {kind} {given!r}{hint}{listed}")


def sentence_of(error: Exception) -> str:
    """Return what an error says to the person at the keyboard."""
    if isinstance(error, SfaError):
        return str(error)
    reason = " ".join(str(error).split())[:300]
    if isinstance(error, MemoryError) or "allocate" in reason or "out of memory" in reason.lower():
        return f"Not enough memory: train in batches by --batch-size, or with a smaller --hidden ({reason})."
    if isinstance(error, OSError):
        return f"{type(error).__name__}: {reason} (--debug shows where)"
    return f"Unforeseen {type(error).__name__}: {reason} (please report it, with what --debug shows)"
