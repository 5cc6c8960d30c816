"""``sfa ledger``: show the results of all studies, export them, import others, or remove some."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from sfa.cli.app import app
from sfa.cli.options import LedgerPath, Quiet


class LedgerAction(str, Enum):
    """What can be done with a ledger."""

    show = "show"
    export = "export"
    import_ = "import"
    remove = "remove"


@app.command()
def ledger(
    action: Annotated[LedgerAction, typer.Argument(help="What to do.")] = LedgerAction.show,
    file: Annotated[
        Path | None, typer.Argument(help="The exported ledger to import: .json or .json.gz.", show_default=False)
    ] = None,
    ledger: LedgerPath = None,
    study: Annotated[str | None, typer.Option(help="Runs of this study alone.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Runs on this data set alone.")] = None,
    method: Annotated[str | None, typer.Option(help="Runs of this method alone.")] = None,
    key: Annotated[str | None, typer.Option(help="Runs whose key begins so.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Failed runs alone.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="File to export to: .csv, .json or .json.gz (with every split), or .md.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")] = False,
    quiet: Quiet = False,
) -> None:
    """Show the ledger of all studies, export it, add runs that were exported elsewhere, or remove some.

    **Examples**

    * `sfa ledger --study ablation`
    * `sfa ledger export --dataset cora --out results.csv`
    * `sfa ledger import theirs.json`: what is there stays
    * `sfa ledger remove --failed`
    """
    from rich.table import Table

    from sfa.errors import InputError
    from sfa.paper import default_path
    from sfa.paper.results import Ledger
    from sfa.paper.results_files import check_export, read_entries, to_frame, to_text, write_entries
    from sfa.run.display import Display, counted, results_console

    display, path, chosen = Display(quiet), ledger or default_path(), bool(study or dataset or method or key or failed)
    what, filters = action.value, "--study, --dataset, --method, --key"
    for wrong, sentence in (
        ((what == "export") != (out is not None), "`sfa ledger export` needs --out, which nothing else takes."),
        (what == "import" and file is None, "`sfa ledger import` needs the exported file to read."),
        (what != "import" and file is not None, f"`sfa ledger {what}` takes no file: --ledger says which ledger."),
        (what == "remove" and not chosen, f"Say what to remove: {filters} or --failed."),
        (file is not None and chosen, f"A file is imported whole: leave out {filters} and --failed."),
    ):
        if wrong:
            raise InputError(sentence)
    if file is not None:
        entries, opened = read_entries(file), Ledger(path, create=True)
        new = {entry.key for entry in entries} - {entry.key for entry in opened.select()}
        opened.add_all(entries)
        display.say(f"{counted(len(entries), 'run')} of {file}, {len(new)} of them new, in {opened.path}")
        return
    if out is not None:
        check_export(out)
    opened = Ledger(path)
    entries = [
        one
        for one in opened.select(study=study, dataset=dataset, method=method)
        if one.key.startswith(key or "") and (one.failure is not None or not failed)
    ]
    if chosen and not entries:
        raise InputError(f"The ledger {path} has no such runs.")
    if out is not None:
        write_entries(out, entries)
        display.say(f"{counted(len(entries), 'run')} in {out}")
    elif what == "remove":  # runs of a study that others have too stay, and are no longer of it
        shared = [one for one in entries if study is not None and {name for name, _ in one.labels} != {study}]
        kept = f" ({counted(len(shared), 'run')} of them will stay, for other studies)" if shared else ""
        if not yes:
            typer.confirm(f"Forget {counted(len(entries), 'run')} of {path}{kept}?", abort=True, err=True)
        opened.unlabel((entry.key for entry in shared), study or "")
        removed = [entry.key for entry in entries if entry not in shared]
        opened.remove(removed)
        display.say(f"{counted(len(removed), 'run')} removed from {opened.path}{kept.replace(' will', '')}")
    else:
        shown, table = to_text(to_frame(entries)), Table()
        whole = {"key": 16, "mean ± std": 12}  # widths of columns that are never cut
        for name in shown.columns:
            table.add_column(name, no_wrap=name in whole, min_width=whole.get(name))
        for row in shown.itertuples(index=False):
            table.add_row(*row)
        results_console().print(table, markup=False)
