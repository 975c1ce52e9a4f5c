"""Looks up which files of the head tree are there, in one request.

Functions are not looked up: that nothing calls one is only a suspicion, and not worth the request for the texts that could. Does not
decide which paths. Invariant: a path is called absent only by a whole list of the tree.
"""

from worker.adapters.github.client import GitHubApi
from worker.adapters.github.responses import RestResponse
from worker.domain.dossier.dossier import Dossier
from worker.domain.dossier.lookups import LookupRequest, LookupResult, find_absent
from worker.domain.request.judge_request import JudgeRequest


class TreeEntryResponse(RestResponse):
    path: str


class TreeResponse(RestResponse):
    tree: tuple[TreeEntryResponse, ...]
    truncated: bool


def look_up_at(api: GitHubApi, request: JudgeRequest, dossier: Dossier, sought: LookupRequest) -> LookupResult:
    if not sought.paths:
        return LookupResult()
    tree = api.get(f"/repos/{request.repository}/git/trees/{dossier.pull_request.head_sha}", TreeResponse, recursive=1)
    return (
        LookupResult()
        if tree.truncated
        else LookupResult(absent_paths=find_absent([entry.path for entry in tree.tree], sought.paths))
    )
