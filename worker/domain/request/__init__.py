"""Types that say what asks for a judging."""
