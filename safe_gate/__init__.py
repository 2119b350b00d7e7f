"""SAFE Gate: decides before a merge whether recorded outputs of a language-model application got worse."""

__version__ = "1.0.0"
