"""One self-contained page of one run or several: what `sfa report` writes."""

from sfa.report.collect import report_data
from sfa.report.page import ReportError, check_report, write_report
from sfa.report.reported import ReportedRun

__all__ = ["ReportError", "ReportedRun", "check_report", "report_data", "write_report"]
