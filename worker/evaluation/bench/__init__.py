"""Judging recorded dossiers by the hundred, and what the verdicts say about the judge. Every figure comes from rows on disk."""
