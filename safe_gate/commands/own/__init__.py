"""The runners of evaluators' own commands, a module each: a command names its runner.

A module has `main(call, evaluator, command)`, which runs the command and returns the exit code. Shell: it reads and
writes the files, which an evaluator may not do.
"""
