"""Renderers: a report in, text out; one module per format.

Pure. They know only the report and the sections that evaluators make of it; only `untrusted.py`
reads recorded text.
"""

SUMMARY_LIMIT = 1_048_576
"""The most bytes of a job summary: the runner drops a longer one (CreateStepSummaryCommand)."""
