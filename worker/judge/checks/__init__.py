"""Verify by code what a case and a model claim."""
