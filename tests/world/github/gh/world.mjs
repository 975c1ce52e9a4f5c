// The world that all parts share: the emulator behind, git pieces, accounts and apps, and what is told to the product.

import { sign } from "node:crypto";
import { Checks } from "./checks.mjs";
import { Git } from "./git.mjs";
import { Installations } from "./installations.mjs";
import { GraphQL } from "./graphql.mjs";
import { Refusal, notFound } from "./http.mjs";
import { Moves } from "./moves.mjs";
import { People } from "./people.mjs";
import { Pulls } from "./pulls.mjs";
import { Scanning } from "./scanning.mjs";
import { Faults, RateLimit, Tokens, need } from "./traffic.mjs";
import { Traps } from "./traps.mjs";

export const ADMINS = Array.from({ length: 100 }, (_, i) => `bench-root-${i}`); // the emulator allows 5,000 requests a token
const FROM_EMULATOR = ["pull_request", "issue_comment", "issues", "pull_request_review", "pull_request_review_comment"];

export class World {
  log = [];
  parents = new Map();
  groups = new Map();
  repos = new Set();
  tokens = new Tokens();
  rate = new RateLimit();
  faults = new Faults();
  traps = new Traps();
  #asked = 0;
  #read = new Map(); // what the emulator answered since it was last changed
  #token = { until: 0 };
  #commits = new Map();
  #sending = Promise.resolve();

  constructor(seed, url, hooks) {
    Object.assign(this, { seed, url, org: seed.org, hooks });
    const { app_id: id, slug, name } = seed.app;
    this.app = appView(id, slug, name, seed, url);
    this.git = new Git(this.admin.bind(this));
    this.checks = new Checks(this);
    this.pulls = new Pulls(this);
    this.people = new People(this);
    this.scanning = new Scanning(this);
    this.installations = new Installations(this);
    this.moves = new Moves(this);
    this.graphql = new GraphQL(this);
    for (const user of seed.users) this.tokens.add(`bench-${user}`, { kind: "user", name: user, login: user });
    for (const token of ADMINS) this.tokens.add(token, { kind: "user", name: "admin", login: "admin" });
  }

  // --- the emulator behind ------------------------------------------------------------------------

  /** The emulator changes by what it is asked to, and by nothing else: until then it gives the same answers again. */
  async #ask(method, path, body, headers) {
    if (method !== "GET") {
      this.#read = new Map();
      const answer = await this.emulator.ask(method, path, headers, body);
      this.#read = new Map(); // what was read meanwhile may be of before
      return reply(answer);
    }
    const read = this.#read;
    const key = [path, headers.authorization, headers.accept].join(" ");
    if (!read.has(key)) read.set(key, this.emulator.ask(method, path, headers).catch((error) => (read.delete(key), Promise.reject(error))));
    return reply(await read.get(key));
  }

  /** Asks the emulator as an administrator; throws unless the answer is good. */
  async admin(method, path, body) {
    const token = ADMINS[Math.floor(this.#asked++ / 4000) % ADMINS.length];
    const reply = await this.#ask(method, path, JSON.stringify(body), {
      authorization: `token ${token}`,
      "content-type": "application/json",
    });
    if (reply.status >= 400) throw new Refusal(reply.status, `${reply.body?.message ?? "failed"} (${method} ${path})`);
    return reply.body;
  }

  /** A commit never changes: it is asked for once. */
  async commit(full, sha) {
    const key = `${full}@${sha}`;
    if (!this.#commits.has(key)) this.#commits.set(key, await this.admin("GET", `/repos/${full}/git/commits/${sha}`));
    return this.#commits.get(key);
  }

  /** Every page of a list. */
  async all(path) {
    const found = [];
    for (let next = 1, more = true; more; next++) {
      const some = await this.admin("GET", `${path}${path.includes("?") ? "&" : "?"}per_page=100&page=${next}`);
      found.push(...some);
      more = some.length === 100;
    }
    return found;
  }

  /** Passes a call on under its own credentials. */
  forward(call, body) {
    const { accept } = call.headers;
    const authorization = call.owner?.kind === "app" ? `Bearer ${this.jwt()}` : call.headers.authorization;
    const headers = { "content-type": "application/json", ...(authorization && { authorization }), ...(accept && { accept }) };
    return this.#ask(call.method, call.path + call.search, body ? JSON.stringify(body) : call.raw, headers);
  }

  /** What the emulator takes for the App: it knows the App's first key only. */
  jwt() {
    const now = Math.floor(Date.now() / 1000);
    if (now < this.#token.until) return this.#token.text;
    const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const text = `${part({ alg: "RS256", typ: "JWT" })}.${part({ iat: now - 30, exp: now + 300, iss: String(this.app.id) })}`;
    const signed = sign("RSA-SHA256", Buffer.from(text), this.seed.app.private_key).toString("base64url");
    this.#token = { text: `${text}.${signed}`, until: now + 60 };
    return this.#token.text;
  }

  /** A call through the bench's own front door. */
  async request(method, path, body, token = ADMINS[0]) {
    const answer = await fetch(this.url + path, {
      method,
      body: JSON.stringify(body),
      headers: { authorization: `token ${token}` },
    });
    const text = await answer.text();
    const reply = text ? JSON.parse(text) : null;
    if (!answer.ok) throw new Refusal(answer.status, reply?.message);
    return reply;
  }

  async mustSee(call, full) {
    const { status } = await this.forward({
      method: "GET",
      path: `/repos/${full}`,
      search: "",
      headers: { authorization: call.headers.authorization },
    });
    if (status !== 200) throw notFound();
  }

  /** A handler for callers who may see the repository and hold the permission. */
  seeing(permission, handler) {
    return async (call, at) => {
      need(call.owner, permission);
      await this.mustSee(call, at.full);
      return handler(call, at);
    };
  }

  // --- git pieces used by more than one part ----------------------------------------------------------

  async tip(full, branch) {
    const { object } = await this.admin("GET", `/repos/${full}/git/ref/heads/${branch}`);
    return this.admin("GET", `/repos/${full}/git/commits/${object.sha}`);
  }

  /** Moves or makes a ref. Protection is the bench's business, so the emulator is told that all checks passed. */
  async ref(full, name, sha) {
    const branch = name.replace("heads/", "");
    for (const { context } of this.pulls.required.get(`${full}@${branch}`) ?? []) {
      await this.admin("POST", `/repos/${full}/check-runs`, {
        name: context,
        head_sha: sha,
        status: "completed",
        conclusion: "success",
      });
    }
    const exists = await this.admin("GET", `/repos/${full}/git/ref/${name}`).catch(() => null);
    if (exists)
      return this.admin("PATCH", `/repos/${full}/git/refs/${name}`, { sha, force: true }).catch(() =>
        this.admin("PATCH", `/repos/${full}/git/refs/${name}`, { sha }),
      );
    return this.admin("POST", `/repos/${full}/git/refs`, { ref: `refs/${name}`, sha });
  }

  /** Copies a commit, its ancestors and their files to another repository of the fork network. */
  async copy(from, to, sha) {
    if (await this.admin("GET", `/repos/${to}/git/commits/${sha}`).catch(() => null)) return;
    const commit = await this.admin("GET", `/repos/${from}/git/commits/${sha}`);
    for (const parent of commit.parents) await this.copy(from, to, parent.sha);
    const { tree } = await this.admin("GET", `/repos/${from}/git/trees/${commit.tree.sha}?recursive=1`);
    const files = tree.filter((one) => one.type === "blob");
    for (const file of files) {
      const { content, encoding } = await this.admin("GET", `/repos/${from}/git/blobs/${file.sha}`);
      await this.admin("POST", `/repos/${to}/git/blobs`, { content, encoding });
    }
    const made = await this.admin("POST", `/repos/${to}/git/trees`, {
      tree: files.map(({ path, mode, type, sha: blob }) => ({ path, mode, type, sha: blob })),
    });
    const { message, author, committer, parents } = commit;
    const copy = await this.admin("POST", `/repos/${to}/git/commits`, {
      message,
      author,
      committer,
      tree: made.sha,
      parents: parents.map((one) => one.sha),
    });
    if (copy.sha !== sha) throw new Error(`commit ${sha} became ${copy.sha}`);
  }

  /** What the verb `repo` made; the emulator has no list of an organization's repositories. */
  async repositories() {
    const found = await Promise.all([...this.repos].map((full) => this.admin("GET", `/repos/${full}`).catch(() => null)));
    return found.filter(Boolean);
  }

  // --- people and apps --------------------------------------------------------------------------------

  async actor(owner) {
    if (owner.kind !== "installation") return this.admin("GET", `/users/${encodeURIComponent(owner.login)}`);
    const login = `${this.app.slug}[bot]`;
    const template = await this.admin("GET", "/users/ghost");
    return JSON.parse(JSON.stringify({ ...template, id: 900_000 + this.app.id, login, type: "Bot" }).replaceAll("ghost", login));
  }

  otherApp(slug) {
    return appView(
      { "github-actions": 15_368 }[slug] ?? 20_000 + slug.length,
      slug,
      slug === "github-actions" ? "GitHub Actions" : slug,
      this.seed,
      this.url,
    );
  }

  async installation() {
    const account = await this.admin("GET", `/orgs/${this.org}`);
    const { installation_id: id, permissions, events } = this.seed;
    return {
      id,
      app_id: this.app.id,
      app_slug: this.app.slug,
      account: { ...account, type: "Organization" },
      target_type: "Organization",
      target_id: account.id,
      repository_selection: "all",
      permissions,
      events,
      suspended_at: null,
    };
  }

  manifest() {
    const { id, slug, name, node_id: node } = this.app;
    return {
      ...this.app,
      id,
      slug,
      name,
      node_id: node,
      client_id: "Iv1.bench",
      client_secret: "bench-client-secret",
      webhook_secret: this.hooks.secret,
      pem: this.seed.app.private_key,
    };
  }

  // --- deliveries -------------------------------------------------------------------------------------

  /** Queues a delivery with the repository, organization and sender that every payload has; to the *installation* that sees it. */
  send(event, full, payload, installation) {
    this.#sending = this.#sending
      .then(async () => {
        const repository = full ? await this.admin("GET", `/repos/${full}`) : undefined;
        const organization = { login: repository?.owner.login ?? this.org, id: repository?.owner.id };
        const sender = payload.sender ?? (await this.admin("GET", "/users/alice"));
        const seeing = repository ? this.moves.installationOf(repository) : this.hooks.installationId;
        this.hooks.send(event, { ...(repository && { repository, organization }), sender, ...payload }, installation ?? seeing);
      })
      .catch((error) => console.error(`gh-bench: ${event}: ${error.message}`));
  }

  /** A delivery of the emulator's own, made true before it goes on to the product. */
  relay(event, raw) {
    this.#relayed(event, raw).catch((error) => console.error(`gh-bench: relay: ${error.message}`));
  }

  async #relayed(event, raw) {
    if (!FROM_EMULATOR.includes(event)) return;
    const payload = truer(JSON.parse(raw));
    if (payload.changes) payload.changes = replaced(payload.changes);
    const {
      repository: { full_name: full },
      issue,
    } = payload;
    const pull =
      payload.pull_request ?? (issue && (await this.admin("GET", `/repos/${full}/pulls/${issue.number}`).catch(() => null)));
    const seen = pull && (await this.pulls.view(pull));
    const number = seen?.number;
    if (event === "issues" && seen)
      return this.send("pull_request", full, { ...payload, issue: undefined, number, pull_request: seen });
    const was = payload.comment && payload.action === "edited" && this.people.replaced.get(payload.comment.id);
    const edit = typeof was === "string" ? { changes: { body: { from: was } } } : {};
    if (issue) return this.send(event, full, { ...payload, ...edit, issue: seen ? this.pulls.asIssue(seen) : issue });
    const changes = payload.action === "edited" ? { changes: this.pulls.changes.get(`${full}#${number}`) ?? {} } : {};
    const review = payload.review && { review: { ...payload.review, state: payload.review.state.toLowerCase() } }; // REST shouts it
    this.send(event, full, { ...payload, ...review, number, pull_request: seen, ...changes, ...edit });
    if (payload.action === "opened") await this.checks.requested(full, seen.head.sha);
  }

  /** Waits until every delivery, the emulator's late ones too, has been answered. */
  async settle() {
    for (let quiet = 0; quiet < 3;) {
      const before = this.hooks.deliveries.length;
      await new Promise((resolve) => setTimeout(resolve, 20));
      await this.#sending;
      await this.hooks.settle();
      quiet = this.hooks.deliveries.length === before ? quiet + 1 : 0;
    }
  }
}

/** An answer of the emulator in GitHub's words; anew each time, since who asked may change it. */
function reply({ status, headers, bytes }) {
  const isJson = headers["content-type"]?.includes("json");
  const body = !bytes.length ? null : isJson ? truer(JSON.parse(bytes)) : bytes;
  if (status === 403 && body?.message === "Forbidden") body.message = "Resource not accessible by integration";
  const keep = ["link", "content-type", "location"].map((name) => [name, headers[name]]).filter(([, value]) => value);
  return { status, body, headers: Object.fromEntries(keep) };
}

const MILLISECONDS = /^(\d{4}-\d\d-\d\dT[\d:]{8})\.\d+Z$/;

const LINKS = [
  "followers",
  "following",
  "gists",
  "starred",
  "subscriptions",
  "organizations",
  "repos",
  "events",
  "received_events",
];

/**
 * GitHub's timestamps have no milliseconds (clients parse them strictly), a [bot] is a Bot, accounts have all their links.
 * Changes *value*. A reviver would say the same in a line, and takes several times as long.
 */
function truer(value) {
  if (typeof value === "string") return value.endsWith("Z") ? value.replace(MILLISECONDS, "$1Z") : value;
  if (typeof value !== "object" || value === null) return value;
  for (const name of Object.keys(value)) {
    const was = value[name];
    const is = truer(was);
    if (is !== was) value[name] = is;
  }
  if (typeof value.login !== "string" || typeof value.id !== "number" || !value.type) return value;
  return { ...accountLinks(value.url ?? value.login), ...value, ...(value.login.endsWith("[bot]") && { type: "Bot" }) };
}

/** The emulator only says which fields an edit changed; what stood there before is not kept. */
function replaced(changes) {
  return Object.fromEntries(
    Object.entries(changes)
      .filter(([, value]) => value)
      .map(([name, value]) => [name, value === true ? { from: "" } : value]),
  );
}

function accountLinks(url) {
  return {
    gravatar_id: "",
    site_admin: false,
    html_url: url,
    ...Object.fromEntries(LINKS.map((name) => [`${name}_url`, `${url}/${name}`])),
  };
}

function appView(id, slug, name, { permissions, events, org }, url) {
  const home = `${url}/orgs/${org}`;
  const owner = {
    login: org,
    id: 1,
    node_id: "O_1",
    type: "Organization",
    avatar_url: `${url}/avatars/${org}`,
    url: home,
    ...accountLinks(home),
  };
  return {
    id,
    slug,
    node_id: `A_${id}`,
    owner,
    name,
    description: "",
    external_url: url,
    html_url: `${url}/apps/${slug}`,
    created_at: "2026-01-01T00:00:00Z",
    updated_at: "2026-01-01T00:00:00Z",
    permissions,
    events,
  };
}
