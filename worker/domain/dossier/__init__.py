"""Types of what the judge may see."""
