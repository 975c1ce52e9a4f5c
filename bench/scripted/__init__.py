"""Models whose replies are made by a rule, behind a real socket in the form of the Messages API.

Shares no code with the judge: reads what a request says, as any model would.
"""
