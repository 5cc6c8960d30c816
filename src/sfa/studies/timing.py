"""Seconds per epoch of several recipes, measured by turns: what else the machine does slows all of them alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from torch import nn
from torch_geometric.data import Data

from sfa.run import Recipe
from sfa.train import LambdaCallback, train

TURNS = 10
"""How often each recipe has its turn."""


def seconds_by_turns(
    recipes: Sequence[Recipe],
    graph: Data,
    *,
    device: str,
    on_turn: Callable[[int, int], None] = lambda recipe, epochs: None,
) -> list[list[float]]:
    """Seconds per epoch of each recipe in each of its turns.

    A turn is a tenth of the recipe's epochs, at least one, after one more that is not counted: it sets things up. Every
    other round goes through the recipes backwards, so that a machine which slows down steadily favours none.

    Args:
        recipes: What is timed.
        graph: On what.
        device: Where.
        on_turn: Called after each turn with the place of the recipe and the epochs that were counted.
    """
    methods = [recipe.build_for(graph) for recipe in recipes]
    graphs = [recipe.prepare(graph) for recipe in recipes]
    seconds: list[list[float]] = [[] for _ in recipes]
    for turn in range(TURNS):
        places = range(len(recipes))
        for place in places if turn % 2 == 0 else reversed(places):
            epochs = epochs_of_a_turn(recipes[place])
            seconds[place].append(
                seconds_per_epoch(methods[place], graphs[place], recipes[place], epochs=epochs, device=device)
            )
            on_turn(place, epochs)
    return seconds


def epochs_of_a_turn(recipe: Recipe) -> int:
    """How many epochs of a turn are counted."""
    return max(1, recipe.training.epochs // TURNS)


def seconds_per_epoch(method: nn.Module, graph: Data, recipe: Recipe, *, epochs: int, device: str) -> float:
    """The mean over so many epochs, after one more that is not counted; ``graph`` is prepared as the recipe says."""
    ends: list[float] = []
    settings = {**recipe.training.arguments, "epochs": epochs + 1, "patience": None, "diagnose_every": 0}
    clock = LambdaCallback(on_epoch_end=lambda state: ends.append(time.perf_counter()))
    train(method, graph, **settings, device=device, sampler=recipe.make_sampler(), callbacks=[clock])
    return (ends[-1] - ends[0]) / epochs
