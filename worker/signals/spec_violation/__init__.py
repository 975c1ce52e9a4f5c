"""Signals for rules of the repository that a change breaks, and for a case that cites what is not there."""
