// The App itself: made from a manifest, and what each installation has granted it.

import { generateKeyPairSync, randomBytes } from "node:crypto";
import { invalid, json, notFound, Refusal, stamp } from "./http.mjs";

const HOUR = 3_600_000;
// What GitHub wants of who subscribes; a manifest that breaks this is refused on its page.
const EVENT_NEEDS = {
  check_run: "checks",
  check_suite: "checks",
  issue_comment: "issues",
  issues: "issues",
  label: "metadata",
  merge_group: "merge_queues",
  pull_request: "pull_requests",
  pull_request_review: "pull_requests",
  pull_request_review_comment: "pull_requests",
  pull_request_review_thread: "pull_requests",
  push: "contents",
  repository: "metadata",
  repository_ruleset: "metadata",
  status: "statuses",
  workflow_job: "actions",
  workflow_run: "actions",
};

export class Installations {
  codes = new Map(); // code -> {manifest, at}
  granted = new Map(); // installation id -> permissions
  suspended = new Map(); // installation id -> since when
  posted = []; // what came to the page that registers Apps

  constructor(world) {
    this.world = world;
  }

  routes(table) {
    for (const page of ["/settings/apps/new", "/organizations/:org/settings/apps/new"])
      table.on(`POST ${page}`, (call, at) => this.register(call, at.org ?? null));
    table
      .on("POST /app-manifests/:code/conversions", (_, { code }) => this.convert(code))
      .on("GET /app", (call) => this.#seen(call, (app) => this.#asApp(app)))
      .on("GET /app/installations", (call) => this.#seen(call, (all) => all.map((one) => this.view(one))))
      .on("GET /app/installations/:id", (call) => this.#seen(call, (one) => this.view(one)))
      .on("GET /repos/:owner/:repo/installation", (call) => this.#seen(call, (one) => this.view(one)));
  }

  // --- the manifest flow ------------------------------------------------------------------------

  /** What GitHub's page does when its own button is pressed as well: the App is made, the browser sent back. */
  register(call, organization) {
    const form = new URLSearchParams(call.raw.toString());
    const manifest = JSON.parse(form.get("manifest"));
    this.posted.push({ organization, manifest });
    const { default_permissions: permissions, default_events: events, redirect_url: back } = manifest;
    const unfit = events.filter((event) => !(EVENT_NEEDS[event] in permissions));
    if (unfit.length) throw invalid(`Default events unsupported: ${unfit.join(", ")}`);
    if (!manifest.url || !manifest.hook_attributes.url || manifest.name.length > 34) throw invalid("Invalid manifest");
    const code = randomBytes(20).toString("hex");
    this.codes.set(code, { manifest, at: Date.now() });
    const to = new URL(back);
    to.searchParams.set("code", code);
    if (call.query.has("state")) to.searchParams.set("state", call.query.get("state"));
    return { status: 302, body: null, headers: { location: to.href } };
  }

  /** A code is good for an hour, and once. The bench's one App becomes what the manifest says. */
  convert(code) {
    const found = this.codes.get(code);
    this.codes.delete(code);
    if (!found || Date.now() - found.at > HOUR) throw notFound();
    const { default_permissions: permissions, default_events: events, hook_attributes: hook } = found.manifest;
    Object.assign(this.world.app, { permissions, events });
    this.world.hooks.events = events;
    this.world.hooks.url = hook.url;
    return json(this.world.manifest(), 201);
  }

  // --- what was granted ---------------------------------------------------------------------------

  permissions(id) {
    return this.granted.get(Number(id)) ?? { metadata: "read", ...this.world.seed.permissions };
  }

  /** What the installation's owner approved, and what the App itself asks for. */
  set({ installation = this.world.seed.installation_id, permissions, asked, events }) {
    if (permissions) this.granted.set(installation, permissions);
    if (permissions === null) this.granted.delete(installation); // as at first
    if (asked) this.world.app.permissions = asked;
    if (events) this.world.app.events = events;
    this.world.tokens.expireInstallations();
  }

  view(one) {
    const permissions = this.permissions(one.id);
    const events = this.world.app.events.filter((event) => EVENT_NEEDS[event] in permissions);
    const org = { ...this.world.app.owner, login: one.account.login, id: one.account.id };
    return { ...one, account: { ...org, ...one.account }, target_id: one.account.id, permissions, events, suspended_at: this.suspended.get(one.id) ?? null };
  }

  /** Its owner, or GitHub, takes the App's rights away for a while. */
  suspend({ installation = this.world.seed.installation_id, ends = false }) {
    if (ends) this.suspended.delete(installation);
    else this.suspended.set(installation, stamp());
    this.world.tokens.expireInstallations();
  }

  mustNotBeSuspended(id) {
    if (this.suspended.has(Number(id))) throw new Refusal(403, "This installation has been suspended");
  }

  /** A key more, as the button makes it; or one taken back. */
  newKey() {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const pem = privateKey.export({ type: "pkcs1", format: "pem" });
    this.world.tokens.keys.push(pem);
    return { pem };
  }

  takeBack({ pem }) {
    this.world.tokens.keys = this.world.tokens.keys.filter((one) => one.trim() !== pem.trim());
    this.world.tokens.expireInstallations();
  }

  #asApp(app) {
    const { permissions, events, owner } = this.world.app;
    return { ...app, owner: app.owner ?? owner, permissions, events };
  }

  async #seen(call, view) {
    const reply = await this.world.forward(call);
    return reply.status === 200 ? { ...reply, body: view(reply.body) } : reply;
  }
}
