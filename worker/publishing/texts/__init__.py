"""Every text that people read, as pure functions over values: check runs, comments, the terminal.

Text that others wrote (titles, paths, lines, the model's sentences) can't format, link, mention or move a cursor.
"""
