"""What was measured: one row a run, in a SQLite file that many studies fill."""

from sfa.ledger.entry import Entry
from sfa.ledger.export import check_export, mean_and_std, write_entries
from sfa.ledger.reading import read_entries
from sfa.ledger.store import Ledger, default_path

__all__ = [
    "Entry",
    "Ledger",
    "check_export",
    "default_path",
    "mean_and_std",
    "read_entries",
    "write_entries",
]
