"""The evaluators: each measures recorded outputs and shows the results; none decides the verdict.

An evaluator is one folder here, or a separate package, and implements `core.evaluator.Evaluator`.
"""
