"""The door's part of the store loads nothing that the door does not need."""

import subprocess
import sys


def test_the_door_loads_neither_queue_nor_client_nor_cipher() -> None:
    wanted = ("redis", "rq", "cryptography", "asyncio")
    code = f"import sys, worker.store.door; print([name for name in {wanted} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
