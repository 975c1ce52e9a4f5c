"""What earlier rounds of a pull request mean for the next verdict."""
