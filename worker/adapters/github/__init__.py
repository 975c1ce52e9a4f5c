"""GitHub as a source of pull requests and a target of check runs, comments and reviews. The only importer of githubkit."""
