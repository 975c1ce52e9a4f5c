"""The sample project of the conversations, and the changes that are proposed for it."""

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
"""Configuration that allows model calls for forks of strangers."""

ISSUE = ("Retry uploads on 503", "- [ ] An upload that is answered 503 is sent again, at most three times\n")

STUB = {
    "upload.py": UPLOAD + '\n\ndef retry(data: bytes) -> int:\n    """Send again on 503."""\n    pass\n',
    "tests/test_retry.py": "from upload import retry\n\n\ndef test_retry():\n    retry(b'x')\n",
}
"""A stub function, and a test that only calls it."""

STUB_LINES = range(12, 15)

RETRY = {
    "upload.py": UPLOAD.replace(
        "    return send(data)\n",
        "    for _ in range(3):\n        status = send(data)\n        if status != 503:\n            break\n    return status\n",
        1,
    ),
    "tests/test_retry.py": "from upload import upload\n\n\ndef test_retry():\n    assert upload(b'x') == 200\n",
}
RETRY_AT = "upload.py:5"

ONLY_DOCUMENTATION = {"README.md": "# Widgets\n\nUploads *one* file at a time.\n"}
