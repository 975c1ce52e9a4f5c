"""Pull requests of a local git checkout and of a recorded dossier."""
