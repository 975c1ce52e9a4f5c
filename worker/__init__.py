"""Judge pull requests: everything but HTTP and the command line, which are in `app`."""
