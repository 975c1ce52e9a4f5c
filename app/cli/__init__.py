"""Run the commands of `assay`, one file per command."""
