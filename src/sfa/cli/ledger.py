"""``sfa ledger``: show the results of all studies, export them, import others, or remove some."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from sfa.cli.app import app
from sfa.cli.options import DATA, OUTPUT, LedgerPath, Quiet, flag, option

Text = str | None
LedgerAction = Literal["show", "export", "import", "remove"]


@app.command()
def ledger(
    action: Annotated[LedgerAction, typer.Argument(help="What to do.")] = "show",
    file: Annotated[Path | None, typer.Argument(help="Exported ledger to import.", show_default=False)] = None,
    study: Annotated[Text, option(DATA, "Runs of this study alone.")] = None,
    dataset: Annotated[Text, option(DATA, "Runs on this data set alone.")] = None,
    method: Annotated[Text, option(DATA, "Runs of this method alone.")] = None,
    key: Annotated[Text, option(DATA, "Runs whose key begins so.", metavar="KEY")] = None,
    failed: Annotated[bool, flag(DATA, "Failed runs alone.", "--failed")] = False,
    ledger: LedgerPath = None,
    out: Annotated[Path | None, option(OUTPUT, "Export to .csv, .json, .json.gz or .md.", metavar="FILE")] = None,
    yes: Annotated[bool, flag(OUTPUT, "Remove without asking.", "--yes", "-y")] = False,
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
    from sfa.paper.results_files import check_export, read_entries, to_text, write_entries
    from sfa.run.display import Display, counted, results_console

    display, path, chosen = Display(quiet), ledger or default_path(), bool(study or dataset or method or key or failed)
    what, filters = action, "--study, --dataset, --method, --key"
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
        opened.remove((entry.key for entry in entries), study=study)
        removed = counted(len(entries) - len(shared), "run")
        display.say(f"{removed} removed from {opened.path}{kept.replace(' will', '')}")
    else:
        shown, table = to_text(entries), Table()
        whole = {"key": 16, "mean ± std": 12}  # widths of columns that are never cut
        for name in shown.columns:
            table.add_column(name, no_wrap=name in whole, min_width=whole.get(name))
        for row in shown.itertuples(index=False):
            table.add_row(*row)
        results_console().print(table, markup=False)
