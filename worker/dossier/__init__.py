"""Turn texts into the values of a dossier, without I/O."""
