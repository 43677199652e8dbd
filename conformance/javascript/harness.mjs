// What the checks share: the list of them, a client, fresh containers, and assertions that say what they saw.

import { deepStrictEqual, ok } from "node:assert/strict";
import { CosmosClient } from "@azure/cosmos";

const checks = [];
let numbers = 0;

/** Registers a check: it takes the account, and fails by throwing. */
export function check(name, body) {
  checks.push({ name, body });
}

export const fresh = (prefix) => `${prefix}${++numbers}`;

export const equal = deepStrictEqual;

/** Equal, whatever the order. */
export function same(found, expected) {
  const sorted = (values) => [...values].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  deepStrictEqual(sorted(found), sorted(expected));
}

/** Awaits a call that must be answered with this status. */
export async function fails(status, call, subStatus) {
  let answer;
  try {
    answer = await call();
  } catch (error) {
    equal(error.code, status);
    if (subStatus !== undefined) equal(error.substatus, subStatus);
    return error;
  }
  throw new Error(`expected status ${status}, but it succeeded: ${JSON.stringify(answer?.resource ?? null)}`);
}

export const numbered = (n) => ({ id: `i${n}`, pk: `p${n % 10}`, n, even: n % 2 === 0, group: `g${n % 3}` });

export const upTo = (count) => Array.from({ length: count }, (_, n) => n);

/** A client, and a database of its own. */
class Account {
  endpoint = process.env.COSMOS_ENDPOINT;
  key = process.env.COSMOS_KEY;
  client = this.connect();

  connect(options = {}) {
    return new CosmosClient({ endpoint: this.endpoint, key: this.key, ...options });
  }

  async open() {
    const { database } = await this.client.databases.create({ id: `javascript-${process.pid}` });
    this.database = database;
    return this;
  }

  /** A fresh container. */
  async container(options = {}) {
    const definition = { id: fresh("c"), partitionKey: { paths: ["/pk"], version: 2 }, ...options };
    const { container } = await this.database.containers.create(definition);
    return container;
  }

  /** A container of several physical partitions, with `count` items spread over them. */
  async spreadContainer(count = 40, options = {}) {
    const container = await this.container({ throughput: 12000, ...options });
    for (const n of upTo(count)) await container.items.create(numbered(n));
    return container;
  }

  async close() {
    await this.database.delete();
    this.client.dispose();
  }
}

export async function run(filters) {
  const account = await new Account().open();
  let [passed, failed] = [0, 0];
  for (const { name, body } of checks) {
    if (filters.length > 0 && !filters.some((part) => name.includes(part))) continue;
    try {
      await body(account);
      passed += 1;
    } catch (error) {
      failed += 1;
      console.log(`FAILED ${name}\n${error.stack ?? JSON.stringify(error)}`);
    }
  }
  await account.close();
  console.log(`javascript: ${passed} passed, ${failed} failed`);
  return failed > 0 || passed === 0 ? 1 : 0;
}

export { ok };
