"""The runs that fill what is missing of a table, as plans of its study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfa.registry import resolve
from sfa.studies import Cell, Dataset, Plan, make_plan
from sfa.tables.ask import Ask
from sfa.tables.commands import Order


def plans(orders: Sequence[Order], datasets: Mapping[str, Dataset], ask: Ask, *, device: str = "auto") -> list[Plan]:
    """The missing cells alone, where a study would measure all of its variants.

    Args:
        orders: What is missing (:meth:`~sfa.tables.make.Maker.missing`).
        datasets: Those that can be had, by the names under which they were asked for.
        ask: How the table was asked for.
        device: Where it is to run.
    """
    found = []
    for order in orders:
        there = {name: datasets[name] for name in order.datasets if name in datasets}
        if there:
            plan = make_plan(
                resolve("study", order.study),
                list(there.values()),
                ask.seeds or (0,),
                methods=order.methods,
                recipe=order.recipe,
                changes=ask.changes,
                protocols=order.protocols,
                device=device,
            )
            wanted = {
                (there[point.dataset].name, point.line.variant) for point in order.points if point.dataset in there
            }
            found.append(_only(plan, wanted))
    return found


def _only(plan: Plan, wanted: set[tuple[str, str]]) -> Plan:
    """A plan without the jobs in which nothing is wanted."""

    def is_wanted(cell: Cell) -> bool:
        return (cell.dataset.name, cell.variant.label) in wanted

    return Plan(plan.study, plan.protocols, tuple(job for job in plan.jobs if any(map(is_wanted, job))))
