// Diffs from real git: objects of the emulator are copied once into a scratch bare repository.

import { execFileSync, spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { deflateSync } from "node:zlib";

const EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const AT_ONCE = 50; // requests to the emulator: thousands at a time fail on a busy machine
const STATUS = { A: "added", M: "modified", D: "removed", R: "renamed", C: "copied", T: "changed" };

export class Git {
  #dir = mkdtempSync(join(tmpdir(), "gh-bench-"));
  #trees = new Map([[EMPTY_TREE, Promise.resolve()]]); // tree -> the promise that it is here
  #blobs = new Set();
  #answers = new Map();
  #comparing = new Map(); // options -> the process that compares with them

  constructor(admin) {
    this.admin = admin;
    execFileSync("git", ["init", "-q", "--bare", this.#dir]);
  }

  close() {
    for (const one of this.#comparing.values()) one.close();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  /** Copies a tree with its blobs into the scratch repository; the SHAs are the same on both sides. */
  #load(repo, tree) {
    if (!this.#trees.has(tree)) this.#trees.set(tree, this.#copy(repo, tree));
    return this.#trees.get(tree);
  }

  async #copy(repo, tree) {
    const { tree: entries } = await this.admin("GET", `/repos/${repo}/git/trees/${tree}?recursive=1`);
    const files = entries.filter((entry) => entry.type !== "tree"); // blobs, and the commits of submodules
    const blobSHAs = files.filter((file) => file.type === "blob").map((file) => file.sha);
    const missing = [...new Set(blobSHAs)].filter((sha) => !this.#blobs.has(sha));
    for (let at = 0; at < missing.length; at += AT_ONCE) {
      const some = missing.slice(at, at + AT_ONCE).map((sha) => this.admin("GET", `/repos/${repo}/git/blobs/${sha}`));
      for (const { sha, content, encoding } of await Promise.all(some)) {
        this.#mustBe(sha, this.#write("blob", Buffer.from(content, encoding === "base64" ? "base64" : "utf8")));
        this.#blobs.add(sha);
      }
    }
    this.#mustBe(tree, this.#writeTree(files.map((file) => ({ ...file, names: file.path.split("/") }))));
  }

  #mustBe(sha, written) {
    if (written !== sha) throw new Error(`object ${sha} became ${written}`);
  }

  /** One object as git stores it. Git itself is not asked: a process of its own for each takes longer than all the rest. */
  #write(type, content) {
    const bytes = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]);
    const sha = createHash("sha1").update(bytes).digest("hex");
    const path = join(this.#dir, "objects", sha.slice(0, 2), sha.slice(2));
    if (!existsSync(path)) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, deflateSync(bytes, { level: 1 }));
    }
    return sha;
  }

  /** A folder with all below it; git sorts a folder as if its name ended with a slash. */
  #writeTree(files, depth = 0) {
    const below = new Map();
    for (const file of files) {
      const name = file.names[depth];
      if (!below.has(name)) below.set(name, []);
      below.get(name).push(file);
    }
    const entries = [...below].map(([name, inside]) =>
      inside[0].names.length > depth + 1
        ? { mode: "40000", name, order: `${name}/`, sha: this.#writeTree(inside, depth + 1) }
        : { mode: inside[0].mode, name, order: name, sha: inside[0].sha },
    );
    entries.sort((one, other) => Buffer.compare(Buffer.from(one.order), Buffer.from(other.order)));
    const rows = entries.map(({ mode, name, sha }) => Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(sha, "hex")]));
    return this.#write("tree", Buffer.concat(rows));
  }

  /** Two trees never differ otherwise tomorrow, so each answer of git is kept. */
  #compare(repo, from, to, ...options) {
    const key = [...options, from, to].join(" ");
    const ask = async () => (await this.#load(repo, from), await this.#load(repo, to), this.#comparer(options).ask(from, to));
    if (!this.#answers.has(key)) this.#answers.set(key, ask());
    return this.#answers.get(key);
  }

  #comparer(options) {
    const key = options.join(" ");
    if (!this.#comparing.has(key)) this.#comparing.set(key, new Comparer(this.#dir, options));
    return this.#comparing.get(key);
  }

  /** The unified diff between two trees, as `git diff` prints it (renames found). Bytes: files need not be UTF-8. */
  diff(repo, from, to) {
    return this.#compare(repo, from, to, "-p", "--full-index");
  }

  /** The same diff as the list that GET pulls/:n/files answers. */
  async files(repo, from, to, url) {
    const raw = (await this.#compare(repo, from, to, "-z")).toString().split("\0");
    const patches = (await this.diff(repo, from, to)).toString().split(/^(?=diff --git )/m).filter(Boolean);
    const files = [];
    for (let i = 0; i < raw.length - 1;) {
      const [, , oldSha, newSha, letter] = raw[i++].split(" ");
      const status = STATUS[letter[0]];
      const previous = "RC".includes(letter[0]) ? raw[i++] : undefined;
      const sha = status === "removed" ? oldSha : newSha;
      files.push(describe({ sha, filename: raw[i++], status, previous }, patches[files.length], url));
    }
    return files;
  }
}

/** One `git diff-tree` for all comparisons with its options: to start one for each takes longer than to compare. */
class Comparer {
  #waiting = []; // who asked, the oldest first: git answers in that order
  #parts = [];

  constructor(cwd, options) {
    this.git = spawn("git", ["diff-tree", "--stdin", "-r", "-M", ...options], { cwd, stdio: ["pipe", "pipe", "inherit"] });
    this.git.stdout.on("data", (part) => this.#take(part));
    this.git.stdin.on("error", () => {});
    this.git.on("close", (code) => this.#waiting.splice(0).forEach(({ reject }) => reject(new Error(`git diff-tree ended: ${code}`))));
  }

  close() {
    this.git.stdin.end();
  }

  ask(from, to) {
    return new Promise((resolve, reject) => {
      if (this.git.exitCode !== null) return reject(new Error("git diff-tree has ended"));
      const end = Buffer.from(`end of ${randomUUID()}\n`); // git says a line that names no object again, and flushes
      this.#waiting.push({ head: `${from} ${to}\n`.length, end, resolve, reject });
      this.git.stdin.write(`${from} ${to}\n${end}`);
    });
  }

  #take(part) {
    this.#parts.push(part);
    let told = part.at(-1) === 10 ? Buffer.concat(this.#parts) : Buffer.alloc(0);
    for (let at; this.#waiting.length && (at = told.indexOf(this.#waiting[0].end)) >= 0; ) {
      const { head, end, resolve } = this.#waiting.shift();
      resolve(told.subarray(head, at));
      told = told.subarray(at + end.length);
      this.#parts = [told];
    }
  }
}

function describe({ sha, filename, status, previous }, patch, url) {
  const at = patch.search(/^@@ /m);
  const hunks = at < 0 ? undefined : patch.slice(at).replace(/\n$/, "");
  const count = (sign) => (hunks ?? "").split("\n").filter((line) => line.startsWith(sign)).length;
  const [additions, deletions] = [count("+"), count("-")];
  const escaped = filename.split("/").map(encodeURIComponent).join("/");
  return {
    sha,
    filename,
    status,
    additions,
    deletions,
    changes: additions + deletions,
    blob_url: `${url.html}/blob/${url.ref}/${escaped}`,
    raw_url: `${url.html}/raw/${url.ref}/${escaped}`,
    contents_url: `${url.api}/contents/${escaped}?ref=${url.ref}`,
    ...(hunks === undefined ? {} : { patch: hunks }),
    ...(previous ? { previous_filename: previous } : {}),
  };
}
