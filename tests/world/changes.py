"""The little project that the conversations are about, and the changes that an agent makes to it.

Invariant: the line numbers in the constants are those of the files as written here.
"""

UPLOAD = '''\
"""Uploads."""


def upload(data):
    return send(data)


def send(data):
    return 200
'''

PROJECT = {
    "README.md": "# Widgets\n\nUploads one file at a time.\n",
    "upload.py": UPLOAD,
    "tests/test_upload.py": "from upload import upload\n\n\ndef test_upload():\n    assert upload(b'x') == 200\n",
}

FOR_EVERYONE = {".github/assay.yml": "ask_model_for: everyone\n"}
"""A model is asked about a stranger's fork, too."""

ISSUE = ("Retry uploads on 503", "- [ ] An upload that is answered 503 is sent again, at most three times\n")

STUB = {
    "upload.py": UPLOAD + '\n\ndef retry(data: bytes) -> int:\n    """Send again on 503."""\n    pass\n',
    "tests/test_retry.py": "from upload import retry\n\n\ndef test_retry():\n    retry(b'x')\n",
}
"""A function whose whole body is a stub, and a test that only calls it."""

STUB_LINES = range(12, 15)

RETRY = {
    "upload.py": UPLOAD.replace(
        "    return send(data)\n",
        "    for _ in range(3):\n        status = send(data)\n        if status != 503:\n            break\n    return status\n",
        1,
    ),
    "tests/test_retry.py": "from upload import upload\n\n\ndef test_retry():\n    assert upload(b'x') == 200\n",
}
"""A solution."""

RETRY_AT = "upload.py:5"

ONLY_DOCUMENTATION = {"README.md": "# Widgets\n\nUploads *one* file at a time.\n"}
