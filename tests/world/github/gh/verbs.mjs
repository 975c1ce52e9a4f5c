// The bench's own verbs under /_bench: what people, git, CI and GitHub itself do to the product.

import { invalid, json, notFound, stamp } from "./http.mjs";

const QUEUE = {
  check_response_timeout_minutes: 60,
  grouping_strategy: "ALLGREEN",
  max_entries_to_build: 5,
  max_entries_to_merge: 5,
  merge_method: "MERGE",
  min_entries_to_merge: 1,
  min_entries_to_merge_wait_minutes: 5,
};
const MERGE_QUEUE_DONE = ["merged", "invalidated", "dequeued"];

export function verbs(world, table) {
  const on = (verb, handler) =>
    table.on(`POST /_bench/${verb}`, async (call) => json((await handler(call.json)) ?? { ok: true }));
  for (const group of [repositories, checksAndButtons, mergeQueue, deliveries, faultsAndCounts]) group(on, world, table);
}

function repositories(on, world) {
  const { pulls } = world;

  on("repo", async ({ owner = world.org, name, private: hidden = false, files, protect, collaborators = {} }) => {
    await world.admin("POST", `/orgs/${owner}/repos`, { name, private: hidden, auto_init: true });
    const full = `${owner}/${name}`;
    world.repos.add(full);
    world.moves.taken(full);
    for (const [login, permission] of Object.entries({ alice: "admin", bob: "push", ...collaborators })) {
      await world.admin("PUT", `/repos/${full}/collaborators/${encodeURIComponent(login)}`, { permission });
    }
    if (files) await push(world, { repo: full, branch: "main", files, message: "Set up" });
    if (protect)
      await world.request("PUT", `/repos/${full}/branches/main/protection`, {
        required_status_checks: {
          strict: false,
          checks: protect.map((one) => (typeof one === "string" ? { context: one } : one)),
        },
        enforce_admins: true,
        required_pull_request_reviews: null,
        restrictions: null,
      });
    return world.admin("GET", `/repos/${full}`);
  });

  on("move", ({ repo, ...where }) => world.moves.move(repo, where));

  on("push", (body) => push(world, body));

  on("fork", async ({ repo, as }) => {
    const fork = await world.request("POST", `/repos/${repo}/forks`, {}, `bench-${as}`);
    await world.request("PUT", `/repos/${fork.full_name}/collaborators/admin`, { permission: "admin" }, `bench-${as}`);
    world.parents.set(fork.full_name, repo);
    const tip = await world.tip(repo, fork.default_branch);
    await world.copy(repo, fork.full_name, tip.sha);
    await world.ref(fork.full_name, `heads/${fork.default_branch}`, tip.sha);
    return fork;
  });

  on("link", ({ repo, pull, issue }) => {
    const key = `${repo}#${pull}`;
    pulls.links.set(key, [...(pulls.links.get(key) ?? []), issue]);
  });

  on("draft", async ({ repo, pull, draft }) => {
    await world.admin("PATCH", `/repos/${repo}/pulls/${pull}`, { draft });
    world.send("pull_request", repo, {
      action: draft ? "converted_to_draft" : "ready_for_review",
      number: pull,
      pull_request: await pulls.find(repo, pull),
    });
  });
}

function checksAndButtons(on, world) {
  const { checks } = world;

  on("ci", async ({ repo, sha, branch, app = "github-actions", context, ...body }) => {
    const head = sha ?? (await world.tip(repo, branch)).sha;
    if (context) return checks.recordStatus(repo, head, { context, ...body }, await world.admin("GET", "/users/alice"));
    const known = checks.runs.find((run) => run.id === body.id);
    if (known) return checks.view(await checks.change(known, body));
    return checks.view(
      await checks.start(repo, world.otherApp(app), { status: "completed", conclusion: "success", ...body, head_sha: head }),
    );
  });

  on("hold", async ({ repo, sha, workflow }) => {
    await checks.hold(repo, sha, world.otherApp("github-actions"), workflow);
    return {};
  });

  on("approve", ({ repo, sha, name }) => checks.approve(repo, sha, name));

  on("press", async ({ button, check_run: id, identifier, as = "alice" }) => {
    const run = checks.runs.find((one) => one.id === id);
    if (!run) throw notFound();
    if (button === "rerun") return checks.rerequest(run);
    if (button === "rerun_all") return checks.rerequestSuite(checks.suites.find((suite) => suite.id === run.suite));
    if (!run.actions.some((action) => action.identifier === identifier))
      throw invalid(`the check run has no button ${identifier}`);
    return checks.requestedAction(run, identifier, await world.admin("GET", `/users/${encodeURIComponent(as)}`));
  });
}

function mergeQueue(on, world) {
  const { pulls } = world;

  on("ruleset", ({ repo, branch = "main", required = [], queue = false }) => {
    const checks = required.map((one) => (typeof one === "string" ? { context: one } : one));
    const parameters = { required_status_checks: checks, strict_required_status_checks_policy: false };
    const rules = checks.length ? [{ type: "required_status_checks", parameters }] : [];
    pulls.rulesets.set(`${repo}@${branch}`, [...rules, ...(queue ? [{ type: "merge_queue", parameters: QUEUE }] : [])]);
  });

  // `on`: the head of the group before it; `squash`: a commit that belongs to no pull request; `files`: how its conflicts
  // were resolved; `head_ref`: what no queue of GitHub's names a group
  on("merge-group", async ({ repo, base = "main", pulls: numbers, on: before, squash = false, files = {}, head_ref }) => {
    const wanted = await Promise.all(numbers.map((number) => pulls.find(repo, number)));
    const from = before ? await world.admin("GET", `/repos/${repo}/git/commits/${before}`) : await world.tip(repo, base);
    const resolved = await Promise.all(Object.entries(files).map(([path, file]) => entry(world, repo, path, file)));
    const commit = await pulls.mergeCommit(repo, from, wanted, { squash, resolved });
    const ref = `gh-readonly-queue/${base}/pr-${numbers.at(-1)}-${from.sha}`;
    await world.ref(repo, `heads/${ref}`, commit.sha);
    const group = {
      head_sha: commit.sha,
      head_ref: head_ref ?? `refs/heads/${ref}`,
      base_sha: from.sha,
      base_ref: `refs/heads/${base}`,
      head_commit: headCommit(commit),
    };
    world.groups.set(commit.sha, { repo, ref, group, wanted, at: stamp() });
    world.send("merge_group", repo, { action: "checks_requested", merge_group: group });
    return group;
  });

  on("merge-group/end", async ({ head_sha: sha, reason }) => {
    const queued = world.groups.get(sha);
    if (!queued || !MERGE_QUEUE_DONE.includes(reason)) throw invalid(`reason is one of ${MERGE_QUEUE_DONE}`);
    const complaints = pulls.complaints(queued.repo, queued.group.base_ref.replace("refs/heads/", ""), sha);
    if (reason === "merged" && complaints.length) throw invalid(complaints.join(" "));
    queued.ended = reason;
    if (reason === "merged") await pulls.land(queued.repo, sha, queued.wanted);
    await world.admin("DELETE", `/repos/${queued.repo}/git/refs/heads/${queued.ref}`);
    world.send("merge_group", queued.repo, { action: "destroyed", reason, merge_group: queued.group });
    return { complaints };
  });
}

function deliveries(on, world, table) {
  const { hooks } = world;

  on("hooks", ({ paused, drop = false, ...settings }) => {
    if (drop) hooks.drop();
    for (const key of ["url", "secret", "events", "copies"]) if (settings[key] !== undefined) hooks[key] = settings[key];
    if (paused === true) hooks.paused = true;
    if (paused === false) hooks.resume();
    return { url: hooks.url, events: hooks.events, paused: hooks.paused, copies: hooks.copies };
  });
  on("deliver", (body) => ({ id: hooks.raw(body).id }));
  on("redeliver", ({ id }) => {
    if (!hooks.again(id)) throw notFound();
  });
  on("release", async ({ id }) => {
    const delivery = hooks.release(id);
    if (!delivery) throw notFound();
    await hooks.settle();
    return { answer: delivery.answer };
  });
  on("redeliver/refused", () => ({ count: hooks.refusedAgain() }));
  on("key", () => world.installations.newKey());
  on("key/take-back", (body) => world.installations.takeBack(body));
  on("suspend", (body) => world.installations.suspend(body));
  on("permissions", (body) => world.installations.set(body));
  on("scanning", (body) => world.scanning.set(body));
  table.on("GET /_bench/manifests", () => json(world.installations.posted));
  on("install", async ({ action = "created", repositories: names = [] }) => {
    const installation = await world.installation();
    const repositories = await Promise.all(names.map((full) => world.admin("GET", `/repos/${full}`)));
    world.send("installation", null, { action, installation, repositories, sender: installation.account });
  });
  on("settle", () => world.settle());
}

function faultsAndCounts(on, world, table) {
  const { hooks, faults, rate, tokens } = world;

  on("fault", (order) => faults.add(order));
  on("trap", (order) => world.traps.set(order));
  on("trap/lay", (order) => world.traps.lay(order));
  on("trap/caught", () => world.traps.caught());
  on("trap/open", () => world.traps.open());
  table.on("DELETE /_bench/fault", () => (faults.clear(), json({ ok: true })));
  on("rate", ({ name = `installation:${hooks.installationId}`, ...limit }) => rate.set(name, limit));
  on("tokens/expire", () => tokens.expireInstallations());
  table.on("DELETE /_bench/requests", () => (world.log.splice(0), json({ ok: true })));
  table.on("GET /_bench/requests", (call) => {
    const names = call.query.getAll("name");
    const repo = call.query.get("repo");
    const match = new RegExp(call.query.get("match") ?? "");
    const requests = world.log.filter(
      (one) =>
        (!names.length || names.includes(one.name)) &&
        (!repo || `${one.path}/`.startsWith(`/repos/${repo}/`) || one.repos.includes(repo)) &&
        match.test(`${one.method} ${one.path}`),
    );
    const billed = requests.filter((one) => one.status !== 304 && !one.path.endsWith("/access_tokens"));
    const bodies = call.query.has("bodies");
    const shown = bodies ? requests : requests.map((one) => ({ ...one, sent: undefined, received: undefined }));
    return json({ count: requests.length, billed: billed.length, requests: shown });
  });
  table.on("GET /_bench/state", (call) => state(world, call.query.get("repo"), call.query.getAll("part")));
}

/** Writes one commit with these files (null deletes) and moves, or makes, the branch; with `to`, it moves to a commit that is there. */
async function push(world, { repo, branch, from, files = {}, message = "Change", author, force = false, as = "alice", to }) {
  const old = await world.tip(repo, branch).catch(() => null);
  const parent = force || !old ? await world.tip(repo, from ?? "main") : old;
  const entries = await Promise.all(Object.entries(files).map(([path, file]) => entry(world, repo, path, file)));
  const tree = await world.admin("POST", `/repos/${repo}/git/trees`, await over(world, repo, parent.tree.sha, entries));
  const who = { name: as, email: `${as}@users.noreply.github.com`, date: new Date().toISOString(), ...author };
  const made = { message, tree: tree.sha, parents: [parent.sha], author: who };
  const commit = to
    ? await world.admin("GET", `/repos/${repo}/git/commits/${to}`)
    : await world.admin("POST", `/repos/${repo}/git/commits`, made);
  await world.ref(repo, `heads/${branch}`, commit.sha);
  const sender = await world.admin("GET", `/users/${encodeURIComponent(as)}`);
  const told = { ...headCommit(commit), ...(to ? {} : await touched(world, repo, parent.tree.sha, files)) };
  world.send("push", repo, {
    ref: `refs/heads/${branch}`,
    before: old?.sha ?? "0".repeat(40),
    after: commit.sha,
    forced: force,
    created: !old,
    deleted: false,
    commits: [told],
    head_commit: told,
    pusher: who,
    sender,
  });
  await world.checks.requested(repo, commit.sha);
  await world.pulls.moved(repo, branch, old?.sha ?? null, sender);
  return { sha: commit.sha, before: old?.sha ?? null };
}

/** The paths of a commit with these files, as a push lists them. */
async function touched(world, repo, base, files) {
  const { tree } = await world.admin("GET", `/repos/${repo}/git/trees/${base}?recursive=1`);
  const before = new Set(tree.map((one) => one.path));
  const left = Object.keys(files).filter((path) => files[path] !== null);
  return {
    added: left.filter((path) => !before.has(path)),
    modified: left.filter((path) => before.has(path)),
    removed: Object.keys(files).filter((path) => files[path] === null && before.has(path)),
  };
}

/** These entries over a tree. With a deletion the whole tree is spelled out: the emulator would leave an empty folder, git does not. */
async function over(world, repo, base, entries) {
  if (entries.every((one) => one.sha !== null)) return { base_tree: base, tree: entries };
  const { tree } = await world.admin("GET", `/repos/${repo}/git/trees/${base}?recursive=1`);
  const named = new Set(entries.map((one) => one.path));
  const kept = tree.filter((one) => one.type !== "tree" && !named.has(one.path));
  const plain = ({ path, mode, type, sha }) => ({ path, mode, type, sha });
  return { tree: [...kept.map(plain), ...entries.filter((one) => one.sha !== null)] };
}

async function entry(world, repo, path, file) {
  if (file === null) return { path, mode: "100644", type: "blob", sha: null };
  if (typeof file === "string") return { path, mode: "100644", type: "blob", content: file };
  const { base64, mode = "100644", text, commit } = file; // {base64} for binary files, {mode} for scripts and links
  if (commit) return { path, mode: "160000", type: "commit", sha: commit }; // a submodule
  const content = base64 ?? Buffer.from(text).toString("base64");
  const { sha } = await world.admin("POST", `/repos/${repo}/git/blobs`, { content, encoding: "base64" });
  return { path, mode, type: "blob", sha };
}

function headCommit(commit) {
  return {
    id: commit.sha,
    tree_id: commit.tree.sha,
    message: commit.message,
    timestamp: commit.author.date,
    author: commit.author,
    committer: commit.committer,
  };
}

/** What there is in a repository, or those parts of it alone: whoever waits asks often. */
async function state(world, repo, wanted) {
  const mine = (one) => !repo || one.repo === repo;
  const parts = {
    check_runs: () => Promise.all(world.checks.runs.filter(mine).map((run) => seen(world, run))),
    statuses: () => world.checks.statuses.filter(mine),
    comments: () => (repo ? world.people.comments(repo, "issues") : []),
    review_comments: () => (repo ? world.people.comments(repo, "pulls") : []),
    reactions: () => world.people.reactions.filter(({ on }) => !repo || on.full === repo),
    pulls: () => (repo ? world.pulls.open(repo) : []),
    deliveries: () =>
      world.hooks.deliveries.filter((one) => mine(one) || !one.repo).map((one) => ({ ...one, headers: undefined })),
    heard: () => world.hooks.deliveries.filter((one) => mine(one) || !one.repo).length,
    requests: () => world.log.length,
    uploads: () => world.scanning.uploads.filter(mine),
    alerts: () => world.scanning.alerts(repo),
  };
  const named = wanted.length ? wanted : Object.keys(parts);
  return json(Object.fromEntries(await Promise.all(named.map(async (name) => [name, await parts[name]()]))));
}

async function seen(world, run) {
  return { ...(await world.checks.view(run)), annotations: run.annotations, actions: run.actions };
}
