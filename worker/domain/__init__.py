"""Define the immutable types and the ports that every room uses.

Does no I/O and knows no SDK: standard library and pydantic only. Invariant: every value is immutable, and one that
breaks its contract can't be built.
"""
