"""A laptop as a world: a git checkout is the repository, a branch the pull request, files the issue and CI.

Does not write to the checkout. Invariant: nothing of the repository is ever executed, and no link followed.
"""
