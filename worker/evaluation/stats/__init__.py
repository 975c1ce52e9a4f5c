"""What the records answer: entries of an installation's stream are folded into rollups, and rollups answer questions.

Does not read or write Redis (`worker.evaluation.stats.rollups` does) and words nothing for people (`worker.evaluation.texts.stats` does).
Invariant: pure; the same entries in the same order give the same rollups and the same answers.
"""
