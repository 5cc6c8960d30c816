"""One self-contained page of one run or several: what `sfa report` writes."""

from sfa.report.collect import report_data
from sfa.report.reported import ReportedRun
from sfa.report.write import ReportError, check_report, write_report

__all__ = ["ReportError", "ReportedRun", "check_report", "report_data", "write_report"]
