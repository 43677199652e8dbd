// Change feeds of both kinds, over a container, a key and a feed range.

import { ChangeFeedMode, ChangeFeedPolicy, ChangeFeedRetentionTimeSpan, ChangeFeedStartFrom } from "@azure/cosmos";
import { check, equal, fails, numbered, ok, same, upTo } from "./harness.mjs";

/** Reads until there is nothing new; the changes and where to go on. */
async function drain(container, changeFeedStartFrom, options = {}) {
  const iterator = container.items.getChangeFeedIterator({ changeFeedStartFrom, ...options });
  const changes = [];
  for (;;) {
    const page = await iterator.readNext();
    if (page.statusCode === 304) return { changes, continuation: page.continuationToken };
    changes.push(...page.result);
  }
}

check("the latest versions from the beginning", async (account) => {
  const container = await account.spreadContainer();
  await container.items.upsert({ ...numbered(5), n: 100 });
  await container.item("i6", "p6").delete();
  const { changes } = await drain(container, ChangeFeedStartFrom.Beginning(), { maxItemCount: 7 });
  same(changes.map((item) => item.id), upTo(40).filter((n) => n !== 6).map((n) => `i${n}`));
  equal(changes.find((item) => item.id === "i5").n, 100);
});

check("from now, and on from there", async (account) => {
  const container = await account.spreadContainer();
  const { changes, continuation } = await drain(container, ChangeFeedStartFrom.Now());
  equal(changes, []);
  await container.items.create({ id: "new", pk: "x" });
  const later = await drain(container, ChangeFeedStartFrom.Continuation(continuation));
  equal(later.changes.map((item) => item.id), ["new"]);
});

check("one key, one feed range, one point in time", async (account) => {
  const container = await account.spreadContainer();
  const byKey = await drain(container, ChangeFeedStartFrom.Beginning("p7"));
  equal(byKey.changes.map((item) => item.id), ["i7", "i17", "i27", "i37"]);
  const parts = [];
  for (const range of await container.getFeedRanges()) {
    parts.push(...(await drain(container, ChangeFeedStartFrom.Beginning(range))).changes);
  }
  same(parts.map((item) => item.n), upTo(40));
  const past = ChangeFeedStartFrom.Time(new Date(Date.now() - 3600_000));
  equal((await drain(container, past)).changes.length, 40);
});

check("all versions and deletes", async (account) => {
  const changeFeedPolicy = new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10));
  await followAllVersions(await account.container({ changeFeedPolicy }));
  // A container needs no policy for it.
  await followAllVersions(await account.container());
});

async function followAllVersions(container) {
  const options = { changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes };
  const { continuation } = await drain(container, ChangeFeedStartFrom.Now(), options);
  await container.items.create({ id: "1", pk: "a", n: 1 });
  await container.items.upsert({ id: "1", pk: "a", n: 2 });
  await container.item("1", "a").delete();
  const { changes } = await drain(container, ChangeFeedStartFrom.Continuation(continuation), options);
  equal(changes.map((change) => change.metadata.operationType), ["create", "replace", "delete"]);
  equal(changes.slice(0, 2).map((change) => change.current.n), [1, 2]);
  ok(changes[2].metadata.previousImageLSN > 0);
  equal(changes[1].previous, undefined);
  const early = { ...options, changeFeedStartFrom: ChangeFeedStartFrom.Beginning() };
  const error = await fails(400, () => container.items.getChangeFeedIterator(early).readNext());
  ok(error.message.includes("You must read the change feed from within the retention period."), error.message);
}
