#!/bin/sh
# Starts Assay with the interpreter beside this script. -I: Python imports nothing from the working directory,
# from PYTHON* variables or from the user's site, also not sitecustomize.py.
# Exit 1 is a reject and nothing else: what fails before the command runs ends with 4.
script=$0
while [ -L "$script" ]; do
    target=$(readlink "$script") || break
    case $target in /*) script=$target ;; *) script=${script%/*}/$target ;; esac
done
case $script in */*) folder=${script%/*} ;; *) folder=. ;; esac
for python in "$folder/python3" "$folder/python"; do
    [ -x "$python" ] && exec "$python" -I -c '
import sys
try:
    from app.cli.main import run
except KeyboardInterrupt:
    sys.exit(130)
except BaseException as error:
    sys.stderr.write(f"assay: the installation is broken ({type(error).__name__}: {error}). Install Assay again.\n")
    sys.exit(4)
run()' "$@"
done
echo "assay: $folder holds no Python. Install Assay into an environment of its own (pipx, uv tool, venv)." >&2
exit 4
