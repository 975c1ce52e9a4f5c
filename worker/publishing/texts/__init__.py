"""Every text that people read: check runs, the terminal, the doctor's report.

Pure functions over values. Does not decide anything and does no I/O. Invariant: text that others wrote
(titles, paths, lines, the model's words) can neither format, link, mention nor move a cursor.
"""
