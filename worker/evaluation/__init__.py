"""Judge many recorded dossiers and compare the verdicts."""
