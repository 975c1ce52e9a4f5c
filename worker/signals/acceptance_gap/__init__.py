"""Signals for what a criterion asks for and the change does not show."""
