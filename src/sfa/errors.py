"""Errors that say what was given, what is allowed and what to do next."""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class SfaError(Exception):
    """Base of all errors that a user can act on; the command line prints its sentence and no traceback."""

    exit_code = 1

    def __str__(self) -> str:
        """Return the sentence in one line of a length that can be read, whatever it quotes."""
        sentence = super().__str__()
        return shortened(sentence, 2000) if len(sentence.splitlines()) > 1 or len(sentence) > 2000 else sentence


class InputError(SfaError, ValueError):
    """Something given (a file, an option, a name, a graph) cannot be used. Raised before any long work starts."""

    exit_code = 2


class MissingFeaturesError(InputError):
    """A graph has no node features; a method that uses none can go on with any."""


class TrainingError(SfaError, RuntimeError):
    """Training itself failed, for instance because the loss is no longer a number."""


def unknown_name(kind: str, given: object, allowed: Iterable[str], *, shown: float = float("inf")) -> InputError:
    """Return the error for a name that does not exist, with the nearest that does, and all if at most ``shown``.

    >>> print(unknown_name("method", "grcae", ["grace", "g-bt"]))
    Unknown method 'grcae': did you mean 'grace'? Allowed: g-bt, grace.
    """
    names = sorted(allowed)
    if not names:
        return InputError(f"Unknown {kind} {quoted(given)}: there are none here.")
    nearest = [
        one for name in (str(given), str(given).lower()) for one in difflib.get_close_matches(name, names, 1, 0.5)
    ]
    hint = f": did you mean {nearest[0]!r}?" if nearest else "."
    listed = f" Allowed: {', '.join(names)}." if len(names) <= shown else ""
    return InputError(f"Unknown {kind} {quoted(given)}{hint}{listed}")


def quoted(value: object) -> str:
    """Return a value as errors quote it, cut to a length that can be read.

    >>> quoted(True), quoted(10**5000)
    ('True', 'a whole number of 16610 bits')
    """
    try:
        return shortened(repr(value), 100)
    except ValueError:  # Python writes no number of more than 4,300 digits
        return f"a whole number of {value.bit_length()} bits" if isinstance(value, int) else "a value too long to show"


def shortened(text: str, length: int = 300) -> str:
    """Return a text in one line, cut to a length."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[:length]}…"


@contextmanager
def translate_os_errors(failed: str, kind: type[SfaError] = InputError) -> Iterator[None]:
    """Turn an error of the operating system into a sentence that begins with what ``failed``, "Cannot write x"."""
    try:
        yield
    except OSError as error:
        raise kind(f"{failed}: {error.strerror or error}.") from error


def is_out_of_memory(error: Exception) -> bool:
    """Tell whether an error, of Python or of PyTorch, says that memory could not be had."""
    reason = str(error).lower()
    return isinstance(error, MemoryError) or "allocate" in reason or "out of memory" in reason


def sentence_of(error: Exception) -> str:
    """Return what an error says to the person at the keyboard."""
    if isinstance(error, SfaError):
        return str(error)
    reason = shortened(str(error))
    if is_out_of_memory(error):
        return f"Not enough memory: train in batches by --batch-size, or with a smaller --hidden ({reason})."
    if isinstance(error, OSError):
        named = f"{shortened(str(error.filename))} cannot be used: {error.strerror}" if error.filename else reason
        return f"{named} (--debug shows where)."
    return f"Unforeseen {type(error).__name__}: {reason} (please report it, with what --debug shows)"
