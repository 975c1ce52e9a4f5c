"""Signals for changes whose tests pass while the work is wrong: the proof was bent, not the code."""
