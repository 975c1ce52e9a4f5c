"""Read rules files (AGENTS.md and the like) as rules that a program can hold a change against.

Reading never raises and takes linear time; a sentence that is not understood to its last word makes no sure rule.
"""
