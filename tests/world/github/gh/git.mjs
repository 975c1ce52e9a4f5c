// Diffs from real git: objects of the emulator are copied once into a scratch bare repository.

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const AT_ONCE = 50; // requests to the emulator: thousands at a time fail on a busy machine
const STATUS = { A: "added", M: "modified", D: "removed", R: "renamed", C: "copied", T: "changed" };

export class Git {
  #dir = mkdtempSync(join(tmpdir(), "gh-bench-"));
  #trees = new Map([[EMPTY_TREE, Promise.resolve()]]); // tree -> the promise that it is here
  #blobs = new Set();
  #answers = new Map();
  #ready = this.#run(["init", "-q", "--bare", "."]);

  constructor(admin) {
    this.admin = admin;
  }

  close() {
    rmSync(this.#dir, { recursive: true, force: true });
  }

  #run(args, input) {
    return new Promise((resolve, reject) => {
      const child = execFile("git", args, { cwd: this.#dir, encoding: "buffer", maxBuffer: 1 << 28 }, (error, out, err) =>
        error ? reject(new Error(`git ${args[0]}: ${err}`)) : resolve(out),
      );
      child.stdin.on("error", () => {}).end(input);
    });
  }

  /** Copies a tree with its blobs into the scratch repository; the SHAs are the same on both sides. */
  #load(repo, tree) {
    if (!this.#trees.has(tree)) this.#trees.set(tree, this.#copy(repo, tree));
    return this.#trees.get(tree);
  }

  async #copy(repo, tree) {
    await this.#ready;
    const { tree: entries } = await this.admin("GET", `/repos/${repo}/git/trees/${tree}?recursive=1`);
    const files = entries.filter((entry) => entry.type !== "tree"); // blobs, and the commits of submodules
    const blobSHAs = files.filter((file) => file.type === "blob").map((file) => file.sha);
    const missing = [...new Set(blobSHAs)].filter((sha) => !this.#blobs.has(sha));
    const blobs = [];
    for (let at = 0; at < missing.length; at += AT_ONCE) {
      const some = missing.slice(at, at + AT_ONCE).map((sha) => this.admin("GET", `/repos/${repo}/git/blobs/${sha}`));
      blobs.push(...(await Promise.all(some)));
    }
    const stream = blobs.flatMap(({ content, encoding }) => {
      const bytes = Buffer.from(content, encoding === "base64" ? "base64" : "utf8");
      return [Buffer.from(`blob\ndata ${bytes.length}\n`), bytes, Buffer.from("\n")];
    });
    if (missing.length) await this.#run(["fast-import", "--quiet"], Buffer.concat(stream));
    for (const sha of missing) this.#blobs.add(sha);
    const loaded = await this.#writeTree(files.map((f) => `${f.mode} ${f.sha}\t${f.path}\n`).join(""), `index-${tree}`);
    if (loaded !== tree) throw new Error(`tree ${tree} became ${loaded}`);
  }

  #writeTree(lines, index) {
    return new Promise((resolve, reject) => {
      const options = { cwd: this.#dir, env: { ...process.env, GIT_INDEX_FILE: join(this.#dir, index) } };
      const child = execFile("sh", ["-c", "git update-index --add --index-info && git write-tree"], options, (error, out, err) =>
        error ? reject(new Error(String(err))) : resolve(out.trim()),
      );
      child.stdin.end(lines);
    });
  }

  /** Two trees never differ otherwise tomorrow, so each answer of git is kept. */
  #compare(repo, from, to, ...options) {
    const args = ["diff-tree", "-r", "-M", ...options, from, to];
    const key = args.join(" ");
    const ask = async () => (await this.#load(repo, from), await this.#load(repo, to), this.#run(args));
    if (!this.#answers.has(key)) this.#answers.set(key, ask());
    return this.#answers.get(key);
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
