// What the GraphQL fields look up: every function takes `x` ({world, call, once, repos}) and asks the rest of the bench.
// Permissions are checked here.

import { Refusal } from "./http.mjs";
import { need } from "./traffic.mjs";

export const TEXT_LIMIT = 512_000; // GitHub cuts Blob.text here and says so only in isTruncated
const PASSING = ["success", "neutral", "skipped", "stale"];
export const WORST_FIRST = ["ERROR", "FAILURE", "PENDING", "EXPECTED", "SUCCESS"];
export const CHANGES = { removed: "DELETED" };
const REACTIONS = { THUMBS_UP: "+1", THUMBS_DOWN: "-1" };

/** An error with GitHub's `type`. */
export class Problem extends Error {
  constructor(type, message) {
    super(message);
    this.type = type;
  }
}

/** A filter of which the bench knows these parts, and no others. */
export function only(filter, ...known) {
  const strange = Object.keys(filter ?? {}).find((name) => !known.includes(name));
  if (strange) throw new Problem("BENCH", `bench: no resolver for the filter ${strange}`);
  return filter;
}

export const upper = (word) => word?.toUpperCase() ?? null;
const unresolved = (what) => new Problem("NOT_FOUND", `Could not resolve to ${what}.`);
const missing = (error) => error instanceof Refusal && error.reply.status === 404;
export const path = ({ html_url: url }) => new URL(url).pathname;

// --- things ---------------------------------------------------------------------------------------------

/** Whether the caller may see a repository at all. */
export function visible(x, full) {
  const look = async () => {
    try {
      await x.world.mustSee(x.call, full);
      return true;
    } catch (error) {
      if (missing(error)) return false;
      throw error;
    }
  };
  return x.once(`see ${full}`, look);
}

export async function repository(x, full) {
  if (!(await visible(x, full))) throw unresolved(`a Repository with the name '${full}'`);
  x.repos.add(full);
  return x.once(`repo ${full}`, () => x.world.admin("GET", `/repos/${full}`));
}

export async function pull(x, full, number) {
  need(x.call.owner, "pull_requests");
  const found = await x.world.admin("GET", `/repos/${full}/pulls/${number}`).catch((error) => {
    throw missing(error) ? unresolved(`a PullRequest with the number of ${number}`) : error;
  });
  return x.world.pulls.light(found);
}

export async function issue(x, full, number) {
  need(x.call.owner, "issues");
  const found = await x.world.admin("GET", `/repos/${full}/issues/${number}`).catch((error) => {
    throw missing(error) ? unresolved(`an Issue with the number of ${number}`) : error;
  });
  return { ...found, repo: full };
}

/** Every text that an issue had, the newest first; none if it was never edited. */
export const edits = ({ repo, number }, x) => x.world.people.edits.get(`${repo}#${number}`) ?? [];

/** Of all that happened to an issue, the bench tells its renames. */
export function timeline({ repo, number }, { itemTypes }, x) {
  const [type, ...more] = itemTypes ?? [];
  if (type !== "RENAMED_TITLE_EVENT" || more.length) throw new Problem("BENCH", "bench: no timeline but of RENAMED_TITLE_EVENT");
  const found = x.world.people.renames.get(`${repo}#${number}`) ?? [];
  return found.map((one) => ({ ...one, __typename: "RenamedTitleEvent" }));
}

export const base = (pr) => pr.base.repo.full_name;
const key = (pr) => `${base(pr)}#${pr.number}`;
/** The pull request with what only git knows: its size, its commits, whether it may be merged. */
export const whole = (pr, x) => x.once(`pull ${key(pr)}`, () => x.world.pulls.view(pr));
export const actor = (user) =>
  user ? { ...user, __typename: ["Bot", "Organization"].find((one) => one === user.type) ?? "User" } : null;

export async function commit(x, repo, sha) {
  const found = await x.once(`commit ${repo} ${sha}`, () => x.world.admin("GET", `/repos/${repo}/git/commits/${sha}`));
  return { ...found, repo, __typename: "Commit" };
}

// --- files ----------------------------------------------------------------------------------------------

/** `SHA:path`, `branch:path`, `HEAD:`, a SHA or a branch; null when there is no such thing, as on GitHub. */
export async function object(repo, { expression, oid }, x) {
  need(x.call.owner, "contents");
  const { full_name: full, default_branch: main } = repo;
  const [, rev, at] = /^([^:]*)(?::(.*))?$/s.exec(oid ?? expression);
  const ref = !rev || rev === "HEAD" ? main : rev.replace(/^refs\/(heads|tags)\//, "");
  const get = (where) => x.world.admin("GET", `/repos/${full}/${where}`).catch(() => null);
  const found = await x.once(`rev ${full} ${ref}`, () => get(`commits/${encodeURIComponent(ref)}`));
  if (found) {
    const tip = await commit(x, full, found.sha);
    return at === undefined ? tip : inTree(x, { repo: full, sha: tip.tree.sha }, at);
  }
  if (at !== undefined || !/^[0-9a-f]{40}$/.test(ref)) return null;
  const type = (await get(`git/trees/${ref}`)) ? "Tree" : (await get(`git/blobs/${ref}`)) ? "Blob" : null;
  return type && { repo: full, sha: ref, __typename: type };
}

export async function entries(x, { repo, sha }) {
  const ask = () => x.world.admin("GET", `/repos/${repo}/git/trees/${sha}?recursive=1`);
  return (await x.once(`tree ${repo} ${sha}`, ask)).tree;
}

async function inTree(x, tree, at) {
  const wanted = at.replace(/\/$/, "");
  if (!wanted) return { ...tree, __typename: "Tree" };
  const entry = (await entries(x, tree)).find((one) => one.path === wanted);
  return entry ? ofEntry(tree.repo, entry) : null;
}

export function ofEntry(repo, { type, sha }) {
  return type === "commit" ? null : { repo, sha, __typename: type === "tree" ? "Tree" : "Blob" };
}

export async function bytes({ repo, sha }, x) {
  const { content, encoding } = await x.once(`blob ${sha}`, () => x.world.admin("GET", `/repos/${repo}/git/blobs/${sha}`));
  return Buffer.from(content, encoding === "base64" ? "base64" : "utf8");
}

export const binary = (data) => data.subarray(0, 8000).includes(0);

// --- checks ---------------------------------------------------------------------------------------------

export async function rollup({ repo, sha }, x) {
  for (const permission of ["checks", "statuses"]) need(x.call.owner, permission);
  const { checks } = x.world;
  const runs = checks.latest(checks.runs.filter((run) => run.repo === repo && run.head_sha === sha));
  const contexts = [
    ...runs.map((run) => ({ ...run, __typename: "CheckRun" })),
    ...checks.latestStatuses(repo, sha).map((one) => ({ ...one, __typename: "StatusContext" })),
  ];
  return contexts.length ? { repo, sha, contexts } : null;
}

export function verdict(one) {
  if (one.__typename === "StatusContext") return upper(one.state);
  if (one.status !== "completed") return "PENDING";
  return PASSING.includes(one.conclusion) ? "SUCCESS" : "FAILURE";
}

/** Whether the base branch of that pull request requires this check run or status. */
export async function required(one, { pullRequestNumber: number }, x) {
  if (!number) throw new Problem("BENCH", "bench: isRequired needs pullRequestNumber");
  const { base: to } = await x.once(`base ${one.repo}#${number}`, () => pull(x, one.repo, number));
  const wanted = x.world.pulls.requiredOn(one.repo, to.ref);
  const name = one.context ?? one.name;
  return wanted.some(({ context, app_id: app }) => context === name && (!(app > 0) || one.app?.id === app));
}

/** What everybody may see of a branch's protection; null for a branch without any. */
export function updateRule(x, full, branch) {
  const wanted = x.world.pulls.required.get(`${full}@${branch}`);
  return wanted ? { pattern: branch, contexts: wanted.map(({ context }) => context) } : null;
}

/** Of these the two that a ruleset of the bench may hold. */
const RULES = { required_status_checks: "RequiredStatusChecksParameters", merge_queue: "MergeQueueParameters" };
export const ruleParameters = ({ type, parameters }) => ({ ...parameters, __typename: RULES[type] });

export const suiteView = (suite, x) => x.once(`suite ${suite.id}`, () => x.world.checks.suiteView(suite));
export const tooLong = (type) => () => {
  throw new Problem("BENCH", `bench: ${type}.databaseId does not fit GraphQL's 32-bit Int; keep the id that REST gave you`);
};

// --- merge queue ----------------------------------------------------------------------------------------

/** null for a branch that never had a merge group: the bench takes it for one without a queue. */
export function mergeQueue(x, full, branch) {
  need(x.call.owner, "merge_queues");
  const mine = ({ repo, group }) => repo === full && group.base_ref === `refs/heads/${branch}`;
  const groups = [...x.world.groups.values()].filter(mine);
  if (!groups.length) return null;
  const queue = { full, branch, url: `${x.world.url}/${full}/queue/${branch}` };
  const open = groups.filter((one) => !one.ended).flatMap((one) => one.wanted.map((pr) => ({ ...one, pr, queue })));
  return { ...queue, entries: open.map((one, i) => ({ ...one, position: i + 1 })) };
}

export const entryOf = (pr, x) =>
  mergeQueue(x, base(pr), pr.base.ref)?.entries.find((one) => one.pr.number === pr.number) ?? null;

// --- lists ----------------------------------------------------------------------------------------------

export async function pullRequests(repo, { states, headRefName, baseRefName, labels, orderBy }, x) {
  need(x.call.owner, "pull_requests");
  const all = await x.world.pulls.all(repo.full_name);
  const found = all.filter(
    (pr) =>
      (!states || states.includes(state(pr))) &&
      (!headRefName || pr.head.ref === headRefName) &&
      (!baseRefName || pr.base.ref === baseRefName) &&
      (!labels || pr.labels.some((one) => labels.includes(one.name))),
  );
  const { field = "CREATED_AT", direction = "ASC" } = orderBy ?? {};
  if (field === "COMMENTS") throw new Problem("BENCH", "bench: no resolver for the order COMMENTS");
  const by = field === "CREATED_AT" ? (pr) => pr.number : (pr) => Date.parse(pr.updated_at);
  const sign = direction === "ASC" ? 1 : -1;
  return found.sort((one, other) => sign * (by(one) - by(other) || one.number - other.number));
}

export const state = (pr) => (pr.merged ? "MERGED" : upper(pr.state));

/** Who may do what; only people who were invited are in the list, unlike in REST's answer about one person. */
export async function collaborators(repo, { login }, x) {
  const all = await x.world.all(`/repos/${repo.full_name}/collaborators`);
  const wanted = all.filter((one) => !login || one.login === login);
  const may = (user) => x.world.people.permission(x.call, { full: repo.full_name, user });
  return Promise.all(wanted.map(async (one) => ({ ...one, permission: upper((await may(one.login)).body.role_name) })));
}

/** The author first, then everybody in a `Co-authored-by:` trailer. */
export function authors({ author, message }) {
  const trailers = [...message.matchAll(/^co-authored-by:\s*(.*?)\s*<([^>]+)>\s*$/gim)];
  return [author, ...trailers.map(([, name, email]) => ({ name, email, date: author.date }))];
}

export async function ofEmail({ email }, _, x) {
  const login = /^(?:\d+\+)?(.+)@users\.noreply\.github\.com$/.exec(email)?.[1];
  return login ? x.world.admin("GET", `/users/${encodeURIComponent(login)}`).catch(() => null) : null;
}

export async function comments({ repo, number }, _, x) {
  const found = await x.world.all(`/repos/${repo}/issues/${number}/comments`);
  return found.map((one) => ({ ...one, repo }));
}

/** Each person's newest review that says yes or no, or said so before it was dismissed. */
export async function opinions(pr, { writersOnly }, x) {
  const repo = base(pr);
  const latest = new Map();
  for (const one of await x.world.all(`/repos/${repo}/pulls/${pr.number}/reviews`)) {
    if (["APPROVED", "CHANGES_REQUESTED", "DISMISSED"].includes(upper(one.state))) latest.set(one.user.login, { ...one, repo });
  }
  const writes = async ({ user }) => {
    const { permission } = (await x.world.people.permission(x.call, { full: repo, user: user.login })).body;
    return ["write", "admin"].includes(permission);
  };
  const all = [...latest.values()];
  const may = await Promise.all(all.map((one) => !writersOnly || writes(one)));
  return all.filter((_one, i) => may[i]);
}

// --- the mutations --------------------------------------------------------------------------------------

async function reviewed(id, x) {
  for (const { full_name: full } of await x.world.repositories())
    for (const { number } of await x.world.pulls.all(full)) {
      const found = await x.world.admin("GET", `/repos/${full}/pulls/${number}/reviews/${id}`).catch(() => null);
      if (found && (await visible(x, full))) return { found, full };
    }
  return null;
}

/** On a comment of an issue or a pull request, the place where `/rejudge` is written, or on a review. */
export async function addReaction(_, { input }, x) {
  const { subjectId, content, clientMutationId = null } = input;
  const [, review] = /^0:PullRequestReview(\d+)$/.exec(Buffer.from(subjectId, "base64").toString()) ?? [];
  const at = review ? await reviewed(review, x) : null;
  if (at) {
    x.repos.add(at.full);
    const call = { ...x.call, json: { content: REACTIONS[content] ?? content.toLowerCase() } };
    const { body } = await x.world.people.react(call, { full: at.full, id: review }, "review");
    const subject = { ...at.found, repo: at.full, __typename: "PullRequestReview" };
    return { clientMutationId, reaction: { ...body, word: content }, subject };
  }
  const spot = await commented(subjectId, x);
  if (spot) {
    const { full, id, found } = spot;
    const call = { ...x.call, json: { content: REACTIONS[content] ?? content.toLowerCase() } };
    const { body } = await x.world.people.react(call, { full, id }, "comment");
    return { clientMutationId, reaction: { ...body, word: content }, subject: { ...found, repo: full, __typename: "IssueComment" } };
  }
  throw unresolved(`a node with the global id of '${subjectId}'`);
}

/** The comment of an issue or a pull request that has this node id, and its repository. */
async function commented(node, x) {
  const [, id] = /^0:IssueComment(\d+)$/.exec(Buffer.from(node, "base64").toString()) ?? [];
  for (const { full_name: full } of id ? await x.world.repositories() : []) {
    const found = await x.world.admin("GET", `/repos/${full}/issues/comments/${id}`).catch(() => null);
    if (!found || !(await visible(x, full))) continue;
    x.repos.add(full);
    return { found, full, id };
  }
  return null;
}

export async function updateIssueComment(_, { input }, x) {
  const { id: node, body, clientMutationId = null } = input;
  const at = await commented(node, x);
  if (!at) throw unresolved(`a node with the global id of '${node}'`);
  need(x.call.owner, "pull_requests", "write"); // every comment of the bench is at a pull request
  const path = `/repos/${at.full}/issues/comments/${at.id}`;
  const call = { ...x.call, method: "PATCH", path, search: "", raw: Buffer.from(JSON.stringify({ body })), json: { body } };
  const reply = await x.world.people.editComment(call, at);
  if (reply.status !== 200) throw new Refusal(reply.status, reply.body?.message);
  return { clientMutationId, issueComment: { ...reply.body, repo: at.full } };
}

/** The pull request that a comment is at; null at an issue. */
export async function commentedPull(comment, _, x) {
  const number = Number(/\/(\d+)$/.exec(comment.issue_url)[1]);
  const is = await x.world.admin("GET", `/repos/${comment.repo}/pulls/${number}`).catch(() => null);
  return is && pull(x, comment.repo, number);
}
