// Repositories that were renamed or went to another account: the number stays, and who asks by an old name is sent to it.

import { Refusal, json } from "./http.mjs";

export class Moves {
  #numbers = new Map(); // a name that a repository had -> its number
  #names = new Map(); // the number -> what it is called now
  #without = new Set(); // names now of those whose account has not installed the App

  constructor(world) {
    this.world = world;
  }

  /** What is called so, or was. */
  now(full) {
    return this.#names.get(this.#numbers.get(full)) ?? full;
  }

  /** A new repository has this name: it leads nowhere else any more. */
  taken(full) {
    this.#numbers.delete(full);
  }

  /** `/repositories/7/pulls` in the words of all other paths. */
  path(path) {
    const [, number, rest = ""] = /^\/repositories\/(\d+)(\/.*)?$/.exec(path) ?? [];
    const full = this.#names.get(Number(number));
    return full ? `/repos/${full}${rest}` : path;
  }

  /** Whose deliveries tell of a repository; null: nobody's. Any account that is not named counts as the App's own. */
  installationOf({ full_name: full, owner }) {
    const { installations, installationId } = this.world.hooks;
    return this.#without.has(full) ? null : (installations[owner.login] ?? installationId);
  }

  /** 301 where it was asked by an old name, and 307 where the method has to stay; null where nothing moved. */
  async answer(call) {
    const [, full, rest = ""] = /^\/repos\/([^/]+\/[^/]+)(\/.*)?$/.exec(call.path) ?? [];
    const number = this.#numbers.get(full);
    if (!number) return this.#refuse(call, full);
    await this.world.mustSee(call, this.now(full));
    const [status, message] = call.method === "GET" ? [301, "Moved Permanently"] : [307, "Temporary Redirect"];
    const url = `${this.world.url}/repositories/${number}${rest}${call.search}`;
    return json({ message, url, documentation_url: "https://docs.github.com/v3/#http-redirects" }, status, { location: url });
  }

  /** An installation that a repository has left changes nothing in it. Public ones, as all that move here, it may go on reading. */
  async #refuse(call, full) {
    const hasMoved = [...this.#names.values()].includes(full);
    if (!hasMoved || call.method === "GET" || call.owner.kind !== "installation") return null;
    const seeing = this.installationOf(await this.world.admin("GET", `/repos/${full}`));
    if (seeing === call.owner.id) return null;
    throw new Refusal(403, "Resource not accessible by integration");
  }

  /** Under another `name`, or in another account: `owner`. */
  async move(full, { name, owner }) {
    const before = await this.world.admin("GET", `/repos/${full}`);
    const from = this.installationOf(before);
    if (owner) await this.world.admin("POST", `/repos/${full}/transfer`, { new_owner: owner });
    const to = `${owner ?? before.owner.login}/${name ?? before.name}`;
    if (name) await this.world.admin("PATCH", `/repos/${owner ?? before.owner.login}/${before.name}`, { name });
    this.#carry(full, to);
    this.#numbers.set(full, before.id);
    this.#names.set(before.id, to);
    this.taken(to);
    if (owner && !(owner in this.world.hooks.installations)) this.#without.add(to);
    const now = await this.world.admin("GET", `/repos/${to}`);
    if (name) this.world.send("repository", to, { action: "renamed", changes: { repository: { name: { from: before.name } } } });
    if (owner) this.#tellOfTransfer(before, now, from);
    return now;
  }

  #tellOfTransfer(before, now, from) {
    const { id, node_id, name, full_name, private: hidden } = now;
    const told = { repository_selection: "all", repositories_added: [], repositories_removed: [], requester: null };
    const one = [{ id, node_id, name, full_name, private: hidden }];
    this.world.send("installation_repositories", null, { action: "removed", ...told, repositories_removed: one }, from);
    const to = this.installationOf(now);
    if (!to) return;
    this.world.send("installation_repositories", null, { action: "added", ...told, repositories_added: one }, to);
    this.world.send("repository", full_name, { action: "transferred", changes: { owner: { from: { organization: before.owner } } } });
  }

  /** All that is kept under its name. */
  #carry(full, to) {
    const { pulls, people, checks, scanning, groups, parents, repos } = this.world;
    const { heads, merged, required, rulesets, links, changes } = pulls;
    for (const kept of [heads, merged, required, rulesets, links, changes, people.edits, people.renames, parents])
      for (const [key, value] of [...kept]) {
        if (key !== full && !key.startsWith(`${full}#`) && !key.startsWith(`${full}@`)) continue;
        kept.delete(key);
        kept.set(to + key.slice(full.length), value);
      }
    for (const kept of [repos, scanning.off]) if (kept.delete(full)) kept.add(to);
    for (const one of [...checks.runs, ...checks.suites, ...checks.statuses, ...scanning.uploads, ...groups.values()])
      if (one.repo === full) one.repo = to;
    for (const { on } of people.reactions) if (on.full === full) on.full = to;
    for (const { on } of [...people.renames.values()].flat()) if (on.repo === full) on.repo = to;
  }
}
