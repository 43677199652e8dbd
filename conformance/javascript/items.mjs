// Single items: create, read, replace, upsert, patch, delete, conditions, keys of every kind, sessions.

import { PartitionKeyBuilder } from "@azure/cosmos";
import { check, equal, fails, ok, same } from "./harness.mjs";

check("an item is created, read, replaced, upserted and deleted", async (account) => {
  const container = await account.container();
  const created = await container.items.create({ id: "1", pk: "a", deep: { list: [1, 2.5, null, true, "x"] } });
  equal(created.statusCode, 201);
  const read = await container.item("1", "a").read();
  equal(read.resource, created.resource);
  equal((await container.item("1", "a").replace({ id: "1", pk: "a", n: 2 })).resource.n, 2);
  const upserted = await container.items.upsert({ id: "1", pk: "a", n: 3 });
  equal([upserted.statusCode, upserted.resource.n], [200, 3]);
  equal((await container.items.upsert({ id: "2", pk: "a" })).statusCode, 201);
  equal((await container.item("1", "a").delete()).statusCode, 204);
  equal((await container.item("1", "a").read()).statusCode, 404);
});

check("an item is created once", async (account) => {
  const container = await account.container();
  await container.items.create({ id: "1", pk: "a" });
  await fails(409, () => container.items.create({ id: "1", pk: "a" }));
  await container.items.create({ id: "1", pk: "b" });
});

check("a missing item is 404", async (account) => {
  const container = await account.container();
  await fails(404, () => container.item("x", "a").delete());
  await fails(404, () => container.item("x", "a").replace({ id: "x", pk: "a" }));
  await fails(404, () => container.item("x", "a").patch([{ op: "add", path: "/n", value: 1 }]));
});

check("special characters in ids and keys", async (account) => {
  const container = await account.container();
  for (const id of ["with space", "ünïcödé", "日本語", "a+b", "a%b", "a&b=c", "quote\"'", "emoji 🚀", "a;b", "a.b"]) {
    await container.items.create({ id, pk: id });
    equal((await container.item(id, id).read()).resource.id, id);
    await container.item(id, id).delete();
  }
});

check("partition keys of every type", async (account) => {
  const container = await account.container();
  for (const [n, pk] of ["text", "", 5, -1.5, 0, true, false, null].entries()) {
    await container.items.create({ id: String(n), pk });
    equal((await container.item(String(n), pk).read()).resource.pk, pk);
  }
  await container.items.create({ id: "none" });
  equal((await container.item("none", undefined).read()).resource.id, "none");
});

check("hierarchical partition keys", async (account) => {
  const partitionKey = { paths: ["/tenant", "/user"], kind: "MultiHash", version: 2 };
  const container = await account.container({ partitionKey });
  for (const tenant of "ab") for (const user of "xyz") await container.items.create({ id: "1", tenant, user });
  equal((await container.item("1", ["a", "y"]).read()).resource.user, "y");
  const key = new PartitionKeyBuilder().addValue("b").addValue("z").build();
  await container.item("1", key).delete();
  const prefix = { partitionKey: ["a"] };
  const { resources } = await container.items.query("SELECT VALUE c.user FROM c", prefix).fetchAll();
  same(resources, ["x", "y", "z"]);
});

check("conditions on writes and reads", async (account) => {
  const container = await account.container();
  const item = container.item("1", "a");
  const first = (await container.items.create({ id: "1", pk: "a" })).resource._etag;
  const second = (await item.replace({ id: "1", pk: "a", n: 1 })).resource._etag;
  const stale = { accessCondition: { type: "IfMatch", condition: first } };
  await fails(412, () => item.replace({ id: "1", pk: "a" }, stale));
  await fails(412, () => container.items.upsert({ id: "1", pk: "a" }, stale));
  await fails(412, () => item.patch([{ op: "incr", path: "/n", value: 1 }], stale));
  await fails(412, () => item.delete(stale));
  const unchanged = { accessCondition: { type: "IfNoneMatch", condition: second } };
  equal((await item.read(unchanged)).statusCode, 304);
  await item.delete({ accessCondition: { type: "IfMatch", condition: second } });
});

check("a patch does every operation", async (account) => {
  const container = await account.container();
  await container.items.create({ id: "1", pk: "a", n: 1, list: [1, 3], old: "x", gone: 0, deep: { a: 1 } });
  const { resource } = await container.item("1", "a").patch([
    { op: "add", path: "/list/1", value: 2 },
    { op: "set", path: "/new", value: { b: null } },
    { op: "replace", path: "/deep/a", value: 2 },
    { op: "remove", path: "/gone" },
    { op: "incr", path: "/n", value: 2.5 },
    { op: "move", from: "/old", path: "/moved" },
  ]);
  equal([resource.list, resource.new, resource.deep, resource.n, resource.moved], [[1, 2, 3], { b: null }, { a: 2 }, 3.5, "x"]);
  ok(!("gone" in resource) && !("old" in resource));
});

check("a patch with a condition", async (account) => {
  const container = await account.container();
  await container.items.create({ id: "1", pk: "a", n: 1 });
  const operations = [{ op: "incr", path: "/n", value: 1 }];
  const item = container.item("1", "a");
  await fails(412, () => item.patch({ condition: "FROM c WHERE c.n > 5", operations }));
  equal((await item.patch({ condition: "FROM c WHERE c.n = 1", operations })).resource.n, 2);
});

check("a patch that cannot be is refused", async (account) => {
  const container = await account.container();
  await container.items.create({ id: "1", pk: "a", s: "x" });
  const item = container.item("1", "a");
  await fails(400, () => item.patch([{ op: "incr", path: "/s", value: 1 }]));
  await fails(400, () => item.patch(Array(11).fill({ op: "set", path: "/x", value: 1 })));
  await fails(400, () => item.patch([{ op: "set", path: "/pk", value: "b" }]));
});

check("a key that contradicts the document is refused", async (account) => {
  const container = await account.container();
  await container.items.create({ id: "1", pk: "a" });
  await fails(400, () => container.item("1", "a").replace({ id: "1", pk: "b" }));
});

check("replies tell charge, session and activity", async (account) => {
  const container = await account.container();
  const created = await container.items.create({ id: "1", pk: "a" });
  ok(created.requestCharge > 5 && created.requestCharge < 7, `${created.requestCharge}`);
  ok(/^\d+:-1#\d+/.test(created.headers["x-ms-session-token"]));
  equal(created.etag, created.resource._etag);
  const read = await container.item("1", "a").read();
  equal(read.requestCharge, 1);
  ok(read.activityId);
});

check("a session token from the future is 404/1002", async (account) => {
  const container = await account.container();
  await container.items.create({ id: "1", pk: "a" });
  const client = account.connect({ connectionPolicy: { retryOptions: { maxRetryAttemptCount: 0 }, enableEndpointDiscovery: false } });
  const item = client.database(account.database.id).container(container.id).item("1", "a");
  const answer = await item.read({ sessionToken: "0:-1#999999" }).catch((error) => ({ statusCode: error.code, substatus: error.substatus }));
  equal([answer.statusCode, answer.substatus], [404, 1002]);
  client.dispose();
});

check("all items of a key are deleted", async (account) => {
  const container = await account.spreadContainer();
  await container.deleteAllItemsForPartitionKey("p3");
  const { resources } = await container.items.query("SELECT VALUE COUNT(1) FROM c").fetchAll();
  equal(resources, [36]);
});

check("time to live is kept and checked", async (account) => {
  const container = await account.container({ defaultTtl: -1 });
  equal((await container.items.create({ id: "1", pk: "a", ttl: 1000 })).resource.ttl, 1000);
  await fails(400, () => container.items.create({ id: "2", pk: "a", ttl: "soon" }));
});

check("an object for a key counts as none, alone and in bulk", async (account) => {
  const container = await account.container();
  await container.items.create({ id: "1", pk: {} });
  equal((await container.item("1", {}).read()).resource.pk, {});
  const [answer] = await container.items.bulk([
    { operationType: "Create", partitionKey: {}, resourceBody: { id: "2", pk: {} } },
  ]).catch((error) => [error]);
  equal(answer.statusCode ?? answer.code, 201);
});

check("a time to live of null is refused, and what is too large in the service's words", async (account) => {
  const container = await account.container();
  await fails(400, () => container.items.create({ id: "1", pk: "a", ttl: null }));
  const large = { id: "1", pk: "a", text: "x".repeat(2 * 1024 * 1024) };
  const refused = await fails(413, () => container.items.create(large));
  ok(refused.message.includes('{"Errors":["Request size is too large"]}'), refused.message);
});
