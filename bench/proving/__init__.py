"""Facts that the heuristic tier stated, proved again from the dossier alone.

Nothing here imports the judge, nor what it reads diffs with: a mistake of theirs must not be shared.
"""
