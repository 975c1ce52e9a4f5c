"""GitHub, as the product needs it: pull requests in, check runs out. The only importer of githubkit.

Does not judge or word anything. Invariant: no SDK type and no SDK error leaves this package.
"""
