"""Look for defects in a change by static checks that cost nothing."""
