"""Ruby, C#, PHP and Kotlin: what of a syntax tree is a body, a chain of calls, a test and a check.

Loaded when the first file of these languages is parsed: most changes hold none. Does not judge. Invariant: answers in the
words of `functions`, `call_chains`, `tests` and `assertions`, so that no signal needs to know which module read the tree.

Each has a grammar that our tree-sitter reads (docs/design.md), so none is left to rules about lines. Weaker than in
the other six: of C#, PHP and Kotlin no signal knows the parameters of a function, of C# and Kotlin none the values that a
test binds to names; PHP between HTML is read in part; comments and layout are never proved harmless; and as long as
`signal.UNMEASURED_LANGUAGES` names a language, nothing that is found in its files is a fact.
"""
