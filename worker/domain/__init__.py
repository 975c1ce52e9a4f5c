"""The types every room speaks in, and the parsers of the texts they come from.

Does no I/O and knows no SDK: standard library, pydantic, markdown-it and tree-sitter only.
Invariant: every value is immutable, and one that breaks its contract can't be built.
"""
