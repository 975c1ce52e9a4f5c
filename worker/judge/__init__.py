"""From a dossier to a verdict. No I/O but the Model port; it sees nothing but the dossier."""
