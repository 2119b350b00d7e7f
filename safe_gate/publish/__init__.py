"""Publishes a report: comment, summary, outputs, annotations, and the hand-over to a trusted workflow."""
