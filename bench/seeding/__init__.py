"""Injects one known defect into a clean change.

Shares no code with the judge that it measures: its own diff editing, its own reading of functions and tests.
"""
