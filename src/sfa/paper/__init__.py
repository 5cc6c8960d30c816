"""Everything about reproducing the paper: studies, results, tables and figures."""
