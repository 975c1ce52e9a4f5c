"""Rules files (AGENTS.md and the like) read as rules that a program can hold a change against.

`rule` says what a rule is, `statements` takes Markdown apart, `parser` understands the sentences. Does not look at any
change. Invariant: reading never raises and takes linear time; a sentence that is not understood to its last word makes
no sure rule.
"""
