// Pull requests whose head follows the pushes, with real diffs, forks, a merge gate and a merge queue.
// The emulator keeps the rest of a pull request (title, body, labels, reviews, comments).

import { Refusal, json, page, stamp } from "./http.mjs";
import { need } from "./traffic.mjs";

const RAW = {
  "application/vnd.github.diff": "diff",
  "application/vnd.github.v3.diff": "diff",
  "application/vnd.github.patch": "diff",
  "application/vnd.github.v3.patch": "diff",
};
const FILE_LIMIT = 3000;
const DIFF_LIMITS = { files: 300, lines: 20_000 }; // beyond them GitHub refuses the .diff media type
const CLOSES = /\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+(?:([\w.-]+\/[\w.-]+))?#(\d+)/gi;

export class Pulls {
  heads = new Map(); // "owner/repo#1" -> head SHA, once it moved
  merged = new Map(); // "owner/repo#1" -> {merge_commit_sha, merged_at}
  required = new Map(); // "owner/repo@main" -> [{context, app_id}], by classic branch protection
  rulesets = new Map(); // the same -> [{type, parameters}]
  links = new Map(); // "owner/repo#1" -> issue numbers linked by hand
  changes = new Map(); // "owner/repo#1" -> what the last edit changed

  constructor(world) {
    this.world = world;
  }

  routes(table) {
    const { url } = this.world;
    const repo = "/repos/:owner/:repo";
    const seen = (handler) =>
      this.world.seeing("pull_requests", async (call, at) => handler(call, await this.find(at.full, at.number)));
    table
      .on(`GET ${repo}/pulls`, (call) => this.list(call))
      .on(`POST ${repo}/pulls`, async (call, at) => this.#viewed(await this.world.forward(call), at.full))
      .on(
        `GET ${repo}/pulls/:number`,
        seen((call, pr) => this.get(call, pr)),
      )
      .on(`PATCH ${repo}/pulls/:number`, (call, at) => this.edit(call, at))
      .on(
        `GET ${repo}/pulls/:number/files`,
        seen(async (call, pr) => page(call, (await this.files(pr)).slice(0, FILE_LIMIT), url)),
      )
      .on(
        `GET ${repo}/pulls/:number/commits`,
        seen(async (call, pr) => page(call, (await this.commits(pr)).slice(0, 250), url)),
      )
      .on(
        `PUT ${repo}/pulls/:number/merge`,
        this.world.seeing("contents", (call, at) => this.merge(call, at)),
      )
      .on(`GET ${repo}/issues/:number`, (call, at) => this.issue(call, at))
      .on(
        `GET ${repo}/commits/:sha/pulls`,
        this.world.seeing("pull_requests", (call, at) => this.ofCommit(call, at)),
      )
      .on(`GET ${repo}/compare/*range`, (call, at) => this.compare(call, at))
      .on(`PUT ${repo}/branches/*branch/protection`, (call, at) => this.protect(call, at))
      .on(
        `GET ${repo}/rules/branches/*branch`,
        this.world.seeing("metadata", (call, at) => this.rules(call, at)),
      );
  }

  // --- reading ----------------------------------------------------------------------------------

  /** The emulator's pull request with its true head; git is not asked. */
  light(pr) {
    const key = `${pr.base.repo.full_name}#${pr.number}`;
    const merged = this.merged.get(key);
    return {
      ...pr,
      head: { ...pr.head, sha: this.heads.get(key) ?? pr.head.sha },
      ...(merged ? { merged: true, ...merged } : {}),
    };
  }

  /** The emulator's pull request, made true: moved head, size, mergeability. */
  async view(pr) {
    const full = pr.base.repo.full_name;
    const seen = this.light(pr);
    const head = seen.head.sha;
    if (pr.head.repo && pr.head.repo.full_name !== full) await this.world.copy(pr.head.repo.full_name, full, head); // a fork network shares its objects
    const compared = this.#compare(seen);
    const [{ commits }, files] = await Promise.all([compared, this.files(seen, compared)]);
    const sum = (field) => files.reduce((total, file) => total + file[field], 0);
    const state = pr.draft ? "draft" : this.complaints(full, pr.base.ref, head).length ? "blocked" : "clean";
    return {
      ...seen,
      commits: commits.length,
      changed_files: files.length,
      additions: sum("additions"),
      deletions: sum("deletions"),
      mergeable_state: pr.state === "open" ? state : "unknown",
    };
  }

  async find(full, number) {
    return this.view(await this.world.admin("GET", `/repos/${full}/pulls/${number}`));
  }

  async open(full) {
    const pulls = await this.world.admin("GET", `/repos/${full}/pulls?state=open&per_page=100`);
    return Promise.all(pulls.map((pr) => this.view(pr)));
  }

  /** Every pull request ever, with its true head. */
  async all(full) {
    return (await this.world.all(`/repos/${full}/pulls?state=all`)).map((pr) => this.light(pr));
  }

  async ofCommit(call, { full, sha }) {
    const pulls = await this.open(full);
    return page(
      call,
      pulls.filter((pr) => pr.head.sha === sha),
      this.world.url,
    );
  }

  async get(call, pr) {
    if (!RAW[call.headers.accept?.split(";")[0]]) return json(pr);
    const diff = await this.diff(pr);
    const size = { files: pr.changed_files, lines: diff.toString("latin1").split("\n").length };
    for (const [what, limit] of Object.entries(DIFF_LIMITS)) {
      if (size[what] > limit)
        throw new Refusal(406, `Sorry, the diff exceeded the maximum number of ${what} (${limit}).`, {
          errors: [{ resource: "PullRequest", field: "diff", code: "too_large" }],
        });
    }
    return json(diff, 200, { "content-type": `${call.headers.accept}; charset=utf-8` });
  }

  /** An issue, or a pull request as the issue that it also is (the emulator knows only the first). */
  async issue(call, { full, number }) {
    const reply = await this.world.forward(call);
    if (reply.status !== 404) return reply;
    await this.world.mustSee(call, full);
    return json(this.asIssue(await this.find(full, number)));
  }

  asIssue(pr) {
    const {
      id,
      node_id,
      number,
      title,
      body,
      user,
      labels,
      state,
      locked,
      assignee,
      assignees,
      milestone,
      comments,
      created_at,
      updated_at,
      closed_at,
      author_association,
      draft,
    } = pr;
    const url = `${pr.base.repo.url}/issues/${number}`;
    return {
      id,
      node_id,
      number,
      title,
      body,
      user,
      labels,
      state,
      locked,
      assignee,
      assignees,
      milestone,
      comments,
      created_at,
      updated_at,
      closed_at,
      author_association,
      draft,
      url,
      repository_url: pr.base.repo.url,
      labels_url: `${url}/labels{/name}`,
      comments_url: `${url}/comments`,
      events_url: `${url}/events`,
      html_url: pr.html_url,
      pull_request: {
        url: pr.url,
        html_url: pr.html_url,
        diff_url: pr.diff_url,
        patch_url: pr.patch_url,
        merged_at: pr.merged_at,
      },
    };
  }

  async list(call) {
    const reply = await this.world.forward(call);
    if (reply.status !== 200) return reply;
    return { ...reply, body: await Promise.all(reply.body.map((pr) => this.view(pr))) };
  }

  async edit(call, { full, number }) {
    const before = await this.find(full, number);
    const { title, body, base } = call.json;
    const changes = {
      ...(title === undefined ? {} : { title: { from: before.title } }),
      ...(body === undefined ? {} : { body: { from: before.body } }),
      ...(base === undefined ? {} : { base: { ref: { from: before.base.ref }, sha: { from: before.base.sha } } }),
    };
    this.changes.set(`${full}#${number}`, changes);
    const reply = await this.#viewed(await this.world.forward(call), full);
    const silent = base !== undefined && title === undefined && body === undefined; // the emulator tells of title and body only
    if (silent && reply.status === 200)
      this.world.send("pull_request", full, { action: "edited", number: Number(number), changes, pull_request: reply.body });
    return reply;
  }

  async compare(call, { full }) {
    const reply = await this.world.forward(call);
    if (reply.status !== 200) return reply;
    const { merge_base_commit: from, commits } = reply.body;
    const to = commits.at(-1) ?? from;
    const trees = [full, from.commit.tree.sha, to.commit.tree.sha];
    if (RAW[call.headers.accept?.split(";")[0]])
      return json(await this.world.git.diff(...trees), 200, { "content-type": "text/plain; charset=utf-8" });
    return {
      ...reply,
      body: { ...reply.body, files: (await this.world.git.files(...trees, this.#urls(full, to.sha))).slice(0, 300) },
    };
  }

  async commits(pr) {
    return (await this.#compare(pr)).commits;
  }
  async diff(pr) {
    return this.world.git.diff(...(await this.#trees(pr)));
  }
  async files(pr, compared) {
    return this.world.git.files(...(await this.#trees(pr, compared)), this.#urls(pr.base.repo.full_name, pr.head.sha));
  }

  async minimal(full, sha) {
    const pulls = await this.world.admin("GET", `/repos/${full}/pulls?state=open&per_page=100`);
    const brief = ({ ref, repo }, at) => ({ ref, sha: at, repo: { id: repo.id, url: repo.url, name: repo.name } });
    return pulls // as on GitHub, a fork's pull request is not listed
      .filter((pr) => (this.heads.get(`${full}#${pr.number}`) ?? pr.head.sha) === sha && pr.head.repo?.full_name === full)
      .map((pr) => ({ id: pr.id, number: pr.number, url: pr.url, head: brief(pr.head, sha), base: brief(pr.base, pr.base.sha) }));
  }

  #urls(full, ref) {
    return { html: `${this.world.url}/${full}`, api: `${this.world.url}/repos/${full}`, ref };
  }

  #compare(pr) {
    const base = pr.merged || pr.state === "closed" ? pr.base.sha : encodeURIComponent(pr.base.ref);
    return this.world.admin("GET", `/repos/${pr.base.repo.full_name}/compare/${base}...${pr.head.sha}`);
  }

  async #trees(pr, compared = this.#compare(pr)) {
    const full = pr.base.repo.full_name;
    const [{ merge_base_commit: base }, head] = await Promise.all([compared, this.world.commit(full, pr.head.sha)]);
    return [full, base.commit.tree.sha, head.tree.sha];
  }

  async #viewed(reply, full) {
    if (reply.status >= 300) return reply;
    return { ...reply, body: await this.find(full, reply.body.number) };
  }

  // --- the merge gate ---------------------------------------------------------------------------

  async protect(call, at) {
    const wanted = call.json.required_status_checks;
    const checks = wanted?.checks ?? (wanted?.contexts ?? []).map((context) => ({ context }));
    const body = {
      ...call.json,
      required_status_checks: wanted ? { strict: false, ...wanted, contexts: checks.map((one) => one.context) } : null,
    };
    const reply = await this.world.forward(call, body);
    if (reply.status === 200) this.required.set(`${at.full}@${at.branch}`, checks);
    return reply;
  }

  /** Rules of rulesets only: classic protection is not told here, and neither are rules on trial. */
  rules(call, { full, branch }) {
    const source = { ruleset_source_type: "Repository", ruleset_source: full, ruleset_id: 1 };
    const rules = (this.rulesets.get(`${full}@${branch}`) ?? []).map((rule) => ({ ...rule, ...source }));
    return page(call, rules, this.world.url);
  }

  /** Classic protection, as whoever may read the contents sees it at the branch. */
  protection(full, branch) {
    const checks = (this.required.get(`${full}@${branch}`) ?? []).map(({ context, app_id: id }) => ({ context, app_id: id ?? null }));
    const contexts = checks.map((one) => one.context);
    const level = checks.length ? "everyone" : "off";
    return { enabled: checks.length > 0, required_status_checks: { enforcement_level: level, contexts, checks } };
  }

  /** Every check that is required, whoever requires it. */
  requiredOn(full, branch) {
    const rules = (this.rulesets.get(`${full}@${branch}`) ?? []).filter((rule) => rule.type === "required_status_checks");
    const ruled = rules.flatMap((rule) => rule.parameters.required_status_checks);
    const classic = this.required.get(`${full}@${branch}`) ?? [];
    return [...classic, ...ruled.map(({ context, integration_id: id }) => ({ context, app_id: id }))];
  }

  complaints(full, branch, sha) {
    return this.requiredOn(full, branch)
      .map((check) => this.world.checks.complaint(full, sha, check))
      .filter(Boolean);
  }

  async merge(call, at) {
    need(call.owner, "contents", "write");
    const pr = await this.find(at.full, at.number);
    if (pr.state !== "open" || pr.draft)
      throw new Refusal(405, pr.draft ? "Pull Request is still a draft" : "Pull Request is not mergeable");
    if (call.json.sha && call.json.sha !== pr.head.sha)
      throw new Refusal(409, "Head branch was modified. Review and try the merge again.");
    const complaints = this.complaints(at.full, pr.base.ref, pr.head.sha);
    if (complaints.length) throw new Refusal(405, complaints.join(" "));
    const commit = await this.mergeCommit(at.full, await this.world.tip(at.full, pr.base.ref), [pr]);
    await this.land(at.full, commit.sha, [pr]);
    return json({ sha: commit.sha, merged: true, message: "Pull Request successfully merged" });
  }

  /** Moves the base branch to a merge commit and closes its pull requests, which the product hears. */
  async land(full, sha, pulls) {
    await this.world.ref(full, `heads/${pulls[0].base.ref}`, sha);
    for (const pr of pulls) {
      this.merged.set(`${full}#${pr.number}`, { merge_commit_sha: sha, merged_at: stamp() });
      await this.world.admin("PATCH", `/repos/${full}/pulls/${pr.number}`, { state: "closed" });
    }
  }

  /** A commit on top of another with the changes of these pull requests; `resolved`: entries of the tree that differ from theirs. */
  async mergeCommit(full, base, pulls, { squash = false, resolved = [] } = {}) {
    let tree = base.tree.sha;
    for (const pr of pulls) {
      const head = await this.world.admin("GET", `/repos/${full}/git/trees/${pr.head.sha}?recursive=1`);
      const modes = new Map(head.tree.map((entry) => [entry.path, entry.mode]));
      const change = (path, sha) => ({ path, mode: modes.get(path) ?? "100644", type: "blob", sha });
      const entries = (await this.files(pr)).flatMap((file) => [
        ...(file.previous_filename ? [change(file.previous_filename, null)] : []),
        change(file.filename, file.status === "removed" ? null : file.sha),
      ]);
      tree = (await this.world.admin("POST", `/repos/${full}/git/trees`, { base_tree: tree, tree: entries })).sha;
    }
    if (resolved.length)
      tree = (await this.world.admin("POST", `/repos/${full}/git/trees`, { base_tree: tree, tree: resolved })).sha;
    const message = pulls
      .map((pr) => `Merge pull request #${pr.number} from ${pr.head.label.replace(":", "/")}\n\n${pr.title}`)
      .join("\n\n");
    return this.world.admin("POST", `/repos/${full}/git/commits`, {
      message,
      tree,
      parents: [base.sha, ...(squash ? [] : pulls.map((pr) => pr.head.sha))],
    });
  }

  // --- pushes -----------------------------------------------------------------------------------

  /** A branch moved: open pull requests from it follow, and the product hears of it. */
  async moved(full, branch, before, sender) {
    const { sha } = await this.world.tip(full, branch);
    const parent = (await this.world.admin("GET", `/repos/${full}`)).parent?.full_name ?? this.world.parents.get(full);
    for (const base of [full, parent].filter(Boolean)) {
      for (const pr of await this.world.admin("GET", `/repos/${base}/pulls?state=open&per_page=100`)) {
        if (pr.head.repo?.full_name !== full || pr.head.ref !== branch) continue;
        this.heads.set(`${base}#${pr.number}`, sha);
        this.world.send("pull_request", base, {
          action: "synchronize",
          number: pr.number,
          before,
          after: sha,
          pull_request: await this.find(base, pr.number),
          sender,
        });
      }
    }
  }

  // --- linked issues ------------------------------------------------------------------------------

  /** The issues that a merge would close: by closing words in the body, and by hand. */
  async closing(pr, full, onlyByHand = false) {
    const byHand = (this.links.get(`${full}#${pr.number}`) ?? []).map((number) => [full, number]);
    const byWord = onlyByHand
      ? []
      : [...(pr.body ?? "").matchAll(CLOSES)].map(([, repo, number]) => [repo ?? full, Number(number)]);
    const found = new Map([...byWord, ...byHand].map((one) => [one.join("#"), one]));
    const issues = await Promise.all(
      [...found.values()].map(([repo, number]) =>
        this.world
          .admin("GET", `/repos/${repo}/issues/${number}`)
          .then((issue) => ({ ...issue, repo }))
          .catch(() => null),
      ),
    );
    return issues.filter(Boolean);
  }
}
