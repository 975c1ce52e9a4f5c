// Traps: the next request of a kind is held, and whoever set the trap learns which connection sent it.

/** For tests that harm a process while it is at exactly this request. Whatever becomes of the sender, the request goes on. */
export class Traps {
  #set = [];
  #held = new Set();
  #laid;

  /** As `set`, for who has something to do before `caught` answers. */
  lay(order) {
    this.#laid = this.set(order);
  }

  caught() {
    return this.#laid;
  }

  /** Answers {port, line} once one is caught: `port` is the sender's; null if none came within `wait` ms. `after`: held with its work done. */
  set({ match, after = false, wait = 10_000, hold = 2_000 }) {
    return new Promise((resolve) => {
      const trap = { regex: new RegExp(match), after, hold, resolve };
      this.#set.push(trap);
      setTimeout(() => {
        this.#set = this.#set.filter((one) => one !== trap);
        resolve({ port: null, line: null });
      }, wait);
    });
  }

  async spring(call, socket, after) {
    const line = `${call.method} ${call.path} ${call.graphql?.name ?? ""}`.trim();
    const trap = this.#set.find((one) => one.after === after && one.regex.test(line));
    if (!trap) return;
    this.#set = this.#set.filter((one) => one !== trap);
    trap.resolve({ port: socket.remotePort ?? null, line });
    await new Promise((resolve) => {
      const over = setTimeout(resolve, trap.hold);
      const go = () => (clearTimeout(over), this.#held.delete(go), resolve());
      this.#held.add(go);
      socket.once("close", go);
    });
  }

  /** What is held goes on. */
  open() {
    for (const go of this.#held) go();
  }
}
