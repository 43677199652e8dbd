// Transactional batches and bulk requests.

import { check, equal, numbered, ok, same, upTo } from "./harness.mjs";

check("a batch does every operation", async (account) => {
  const container = await account.container();
  await container.items.create({ id: "old", pk: "a", n: 1 });
  await container.items.create({ id: "gone", pk: "a" });
  const { result, code } = await container.items.batch(
    [
      { operationType: "Create", resourceBody: { id: "1", pk: "a" } },
      { operationType: "Upsert", resourceBody: { id: "2", pk: "a" } },
      { operationType: "Replace", id: "old", resourceBody: { id: "old", pk: "a", n: 2 } },
      { operationType: "Patch", id: "old", resourceBody: { operations: [{ op: "incr", path: "/n", value: 5 }] } },
      { operationType: "Read", id: "old" },
      { operationType: "Delete", id: "gone" },
    ],
    "a",
  );
  equal(code, 200);
  equal(result.map((one) => one.statusCode), [201, 201, 200, 200, 200, 204]);
  equal(result[4].resourceBody.n, 7);
  ok(result.every((one) => one.requestCharge > 0));
});

check("a failed batch leaves nothing", async (account) => {
  const container = await account.container();
  await container.items.create({ id: "there", pk: "a" });
  const create = (id) => ({ operationType: "Create", resourceBody: { id, pk: "a" } });
  const { result, code } = await container.items.batch([create("1"), create("there"), create("2")], "a");
  equal(code, 207);
  equal(result.map((one) => one.statusCode), [424, 409, 424]);
  const { resources } = await container.items.readAll().fetchAll();
  equal(resources.map((item) => item.id), ["there"]);
});

check("a batch has one hundred operations at most", async (account) => {
  const container = await account.container();
  const create = (n) => ({ operationType: "Create", resourceBody: { id: String(n), pk: "a" } });
  // The SDK refuses more by itself.
  equal((await container.items.batch(upTo(100).map(create), "a")).result.length, 100);
});

check("a batch can leave out what it wrote", async (account) => {
  const container = await account.container();
  const operations = [{ operationType: "Create", resourceBody: { id: "1", pk: "a" } }, { operationType: "Read", id: "1" }];
  const { result } = await container.items.batch(operations, "a", { contentResponseOnWriteEnabled: false });
  equal(result.map((one) => [one.statusCode, one.resourceBody?.id]), [[201, undefined], [200, "1"]]);
});

check("bulk operations go to every partition", async (account) => {
  const container = await account.container({ throughput: 12000 });
  const creates = upTo(120).map((n) => ({ operationType: "Create", partitionKey: numbered(n).pk, resourceBody: numbered(n) }));
  const created = await container.items.executeBulkOperations(creates);
  equal(created.map((one) => one.response?.statusCode), upTo(120).map(() => 201));
  const mixed = await container.items.executeBulkOperations([
    { operationType: "Read", id: "i5", partitionKey: "p5" },
    { operationType: "Upsert", partitionKey: "p6", resourceBody: { ...numbered(6), n: 600 } },
    { operationType: "Replace", id: "i7", partitionKey: "p7", resourceBody: { ...numbered(7), n: 700 } },
    { operationType: "Patch", id: "i8", partitionKey: "p8", resourceBody: { operations: [{ op: "incr", path: "/n", value: 1 }] } },
    { operationType: "Delete", id: "i9", partitionKey: "p9" },
    { operationType: "Create", partitionKey: "p1", resourceBody: numbered(1) },
    { operationType: "Read", id: "nothing", partitionKey: "p1" },
  ]);
  equal(mixed.map((one) => one.response?.statusCode ?? one.error?.code), [200, 200, 200, 200, 204, 409, 404]);
  equal(mixed[0].response.resourceBody.n, 5);
  const { resources } = await container.items.query("SELECT VALUE c.n FROM c WHERE c.n IN (600, 700, 9)").fetchAll();
  same(resources, [9, 600, 700]);
});

check("the older bulk call works too", async (account) => {
  const container = await account.container();
  const operations = upTo(10).map((n) => ({ operationType: "Create", resourceBody: numbered(n) }));
  const results = await container.items.bulk(operations);
  equal(results.map((one) => one.statusCode), upTo(10).map(() => 201));
});
