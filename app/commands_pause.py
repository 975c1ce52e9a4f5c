"""`assay pause` and `assay resume`: stop all judging in one repository, and go on.

Does not touch a judging that has begun. Invariant: a repository that the store does not know is not switched, and that
is said.
"""

import argparse

from app.exits import Answer, Exit
from worker.render.pause import switched
from worker.settings import from_environment
from worker.store.connection import open_store


def pause(arguments: argparse.Namespace) -> Answer:
    return _switch(arguments.repository, is_paused=True)


def resume(arguments: argparse.Namespace) -> Answer:
    return _switch(arguments.repository, is_paused=False)


def _switch(repository: str, *, is_paused: bool) -> Answer:
    with open_store(from_environment()) as store:
        owned = store.records().of_repository(repository).owned
        turn = store.switches.pause if is_paused else store.switches.resume
        for one in owned:
            turn(one.installation, one.repository)
    return Answer(Exit.ACCEPT if owned else Exit.USAGE, switched(repository, len(owned), is_paused=is_paused))
