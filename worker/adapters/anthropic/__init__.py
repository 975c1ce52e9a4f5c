"""The language model behind the Model port, and what it costs.

Does not know what is asked. Invariant: the only importer of the vendor's SDK.
"""
