"""Relate a judging to the earlier rounds of its pull request."""
