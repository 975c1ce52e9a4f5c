"""Makes dossiers out of a repository's own history."""
