"""The court of an installation: what its first opening leaves for the jobs that are forked later."""

import subprocess
import sys
from pathlib import Path

OPENED = """
import sys
from pathlib import Path
from pydantic import SecretStr
from worker.wiring.app import open_app
from worker.domain.model import Frozen
from worker.settings import AppCredentials, Settings
from worker.adapters.redis.store import open_store

def models(base):
    return [one for model in base.__subclasses__() for one in (model, *models(model))]

app = AppCredentials(1, (SecretStr("no key"),), (SecretStr("no secret"),))
settings = Settings(data_dir=Path(sys.argv[1]), app=app)
with open_store(settings) as store, open_app(settings, store):
    pass
print([one.__name__ for one in models(Frozen) if not one.__pydantic_complete__])
print([one for one in ("worker.judge.llm.model_judge", "worker.publishing.check_runs", "worker.dossier.criteria") if one not in sys.modules])
"""


def test_a_court_once_opened_leaves_no_job_a_module_to_load_or_a_model_to_build(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OPENED, str(tmp_path)], capture_output=True, text=True, check=True, env={}
    )
    assert done.stdout.splitlines() == ["[]", "[]"]
