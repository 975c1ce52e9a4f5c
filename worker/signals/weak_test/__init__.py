"""Signals for tests that pass and prove nothing. A fact is about a test that the change adds or touches."""
