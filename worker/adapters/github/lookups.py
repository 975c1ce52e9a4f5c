"""Looks up which files of the head tree are there, in one request.

Functions are not looked up: that nothing calls one is only a suspicion, and not worth the request for the texts that could. Does not
decide which paths. Invariant: a path is called absent only by a whole list of the tree.
"""

from worker.adapters.github.client import Api
from worker.adapters.github.responses import Reply
from worker.domain.dossier.dossier import Dossier
from worker.domain.dossier.lookups import LookedUp, Sought, absent_from
from worker.domain.request.judge_request import JudgeRequest


class TreeEntry(Reply):
    path: str


class Tree(Reply):
    tree: tuple[TreeEntry, ...]
    truncated: bool


def looked_up_at(api: Api, request: JudgeRequest, dossier: Dossier, sought: Sought) -> LookedUp:
    if not sought.paths:
        return LookedUp()
    tree = api.get(f"/repos/{request.repository}/git/trees/{dossier.pull_request.head_sha}", Tree, recursive=1)
    return LookedUp() if tree.truncated else LookedUp(absent=absent_from([one.path for one in tree.tree], sought.paths))
