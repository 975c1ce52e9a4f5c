"""Judging recorded dossiers by the hundred, and what the verdicts say about the judge.

Does not serve GitHub and keeps no ledger. Invariant: every figure comes from rows on disk, and says from how many.
"""
