// A local Cosmos DB account for tests: started on a free port, and stopped at the end.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** Starts an account in memory. The binary is found by `binary`, by COSMONAUT or on the PATH. */
export async function start({
  binary = process.env.COSMONAUT || "cosmonaut",
  args = [],
  timeout = 60_000,
} = {}) {
  const all = ["up", "--port", "0", "--management-port", "0", "--json", "--until-input-ends", ...args];
  // The input ends with this process, however it ends, and the account with its input.
  const child = spawn(binary, all, { stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.on("error", () => {});
  // A process that forgets to stop the account ends it.
  const kill = () => child.kill();
  process.once("exit", kill);
  let error = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (error = (error + text).slice(-10_000)));
  let tooLate;
  const ready = await new Promise((resolve, reject) => {
    tooLate = setTimeout(() => {
      child.kill("SIGKILL");
      reject(new Error(`${binary} was not ready within ${timeout} ms: ${error.trim()}`));
    }, timeout);
    const lines = createInterface({ input: child.stdout });
    lines.once("line", (line) => resolve(JSON.parse(line)));
    child.once("error", (cause) => {
      const hint = "`cargo install cosmonaut-cli`, or set COSMONAUT";
      reject(new Error(`${binary} cannot be started (${hint})`, { cause }));
    });
    child.once("close", (status) => reject(new Error(`${binary} ended with ${status}: ${error.trim()}`)));
  })
    .catch((failure) => {
      process.removeListener("exit", kill);
      throw failure;
    })
    .finally(() => clearTimeout(tooLate));
  return new Account(child, ready, kill);
}

/** A running account. */
class Account {
  #child;
  #kill;

  constructor(child, { endpoint, key, management }, kill) {
    this.#child = child;
    this.#kill = kill;
    this.endpoint = endpoint;
    this.management = management;
    // Not shown by console.log.
    Object.defineProperty(this, "key", { value: key, enumerable: false });
  }

  get connectionString() {
    return `AccountEndpoint=${this.endpoint};AccountKey=${this.key};`;
  }

  /** The name of a database that no other test uses. */
  databaseName() {
    return `test-${randomUUID()}`;
  }

  /** Stops the account; its exit status. */
  async stop() {
    process.removeListener("exit", this.#kill);
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const closed = once(this.#child, "close");
      this.#child.stdin.end();
      await closed;
    }
    return this.#child.exitCode;
  }
}
