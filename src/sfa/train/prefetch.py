"""Batches that a thread makes while the step before them runs."""

from collections.abc import Iterator
from concurrent.futures import Executor
from typing import TypeVar

from sfa.train.batch_plan import Part

T = TypeVar("T")


def prefetch(thread: Executor, items: Iterator[T]) -> Iterator[T]:
    """Yield the items in order, the next of which is made meanwhile: memory holds one more of them.

    Args:
        thread: An executor of one worker, the only one that advances ``items``. What is raised there is raised here
            in place of the item. Closing it waits for the item that is being made.
        items: Made on demand, none of them ``None``, and the same whether they are made ahead or not.
    """
    made = thread.submit(next, items, None)
    while (item := made.result()) is not None:
        made = thread.submit(next, items, None)
        yield item


def parts_of_step(parts: Iterator[Part]) -> Iterator[Part]:
    """Yield parts up to the last one of a step, and leave those of later steps."""
    for part in parts:
        yield part
        if part.is_last:
            return
