"""What `assay pause` and `assay resume` say.

Does not switch anything. Invariant: says what becomes of checks, and how to go back.
"""


def switched(repository: str, numbers: int, *, is_paused: bool) -> str:
    """*numbers*: under how many pairs of installation and repository it is known; GitHub renames, we do not."""
    if not numbers:
        return (
            f"{repository} is not known here: nothing of it was judged yet, or it was forgotten.\n"
            "Check the name, and that REDIS_URL or ASSAY_DATA_DIR lead to the store of the running Assay.\n"
        )
    if is_paused:
        return (
            f"Judging is paused in {repository}: from now on its checks are neutral, and no model is asked.\n"
            f"`assay resume {repository}` goes on.\n"
        )
    return (
        f"Judging goes on in {repository}: at the next push, `/rejudge` or re-run.\n"
        f"`assay pause {repository}` stops it.\n"
    )
