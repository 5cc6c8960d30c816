"""One self-contained page of one run or several: what `sfa report` writes."""

from sfa.report.collect import ReportedRun, report_data
from sfa.report.page import ReportError, check_report, write_report

__all__ = ["ReportError", "ReportedRun", "check_report", "report_data", "write_report"]
