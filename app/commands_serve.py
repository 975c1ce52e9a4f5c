"""`assay serve` and `assay work`: the two halves of a deployment, each in its own process.

Does not supervise (`app.commands_up` does). Invariant: a process that was started to end with another one
ends with it, however that one ended.
"""

import signal

from app.exits import Answer, Exit
from worker.lifeline import die_with_parent
from worker.settings import Settings, from_environment


def serve(end_with: int | None) -> Answer:
    """Run the web door until it is told to stop."""
    settings = _ready(end_with)
    from app.asgi import run_web

    run_web(settings)
    return Answer(Exit.ACCEPT)


def work(end_with: int | None) -> Answer:
    """Run dispatcher and worker until they are told to stop."""
    settings = _ready(end_with)
    from worker.__main__ import run_work
    from worker.logs import log_json

    log_json(settings.log_level)
    run_work(settings)
    return Answer(Exit.ACCEPT)


def _ready(end_with: int | None) -> Settings:
    """The settings, before anything is started or loaded. Raises SettingError where one is missing."""
    if end_with is not None:
        die_with_parent(end_with, signal.SIGTERM)
    settings = from_environment()
    settings.require_app()
    return settings
