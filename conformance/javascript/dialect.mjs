// The newer functions of the dialect, lists and sets over partitions, and what is said of queries that mean nothing.

import { check, equal, fails, ok, same, upTo } from "./harness.mjs";

const ask = async (container, query, options = {}) => (await container.items.query(query, options).fetchAll()).resources;

check("dialect: newer functions", async (account) => {
  const container = await account.container();
  await container.items.create({ id: "1", pk: "a", n: [1, -2.7, 3, -4], s: "A12-B34-C56", d: "2024-10-10 14:40:20" });
  for (const [expression, expected] of [
    ["ARRAY_AVG(c.n)", -0.675],
    ["ARRAY_MIN([12, 'abc', true, false, null])", null],
    ["CONTAINS_ALL_CS(c.s, 'B34', 'C56')", true],
    ["SUBSTRINGBEFORE('a/b/c', '/')", "a"],
    ["REGEXEXTRACT(c.s, '[0-9]+')", "12"],
    ["DATETIMEFORMAT(c.d, 'HH:mm:ss.fff')", "14:40:20.000"],
    ["MONTH(c.d)", 10],
    ["ALL(SELECT VALUE n > 0 FROM n IN c.n)", false],
    ["FIRST(SELECT VALUE n FROM n IN c.n)", 1],
  ]) {
    equal(await ask(container, `SELECT VALUE ${expression} FROM c`, { partitionKey: "a" }), [expected]);
  }
});

check("dialect: lists and sets over partitions", async (account) => {
  const container = await account.spreadContainer();
  const [list] = await ask(container, "SELECT VALUE MakeList(c.n) FROM c");
  same(list, upTo(40));
  const [set] = await ask(container, "SELECT VALUE MakeSet(c.group) FROM c");
  same(set, ["g0", "g1", "g2"]);
  const groups = await ask(container, "SELECT c.even, MakeSet(c.group) AS groups FROM c GROUP BY c.even");
  equal(groups.length, 2);
  for (const { groups: found } of groups) same(found, ["g0", "g1", "g2"]);
});

check("dialect: mistakes are all named", async (account) => {
  const container = await account.container();
  const error = await fails(400, () => ask(container, "SELECT d.x, STARTWITH(c.a, 'b') FROM c"));
  ok(error.message.includes("Identifier 'd' could not be resolved."), error.message);
  ok(error.message.includes("Did you mean 'STARTSWITH'?"), error.message);
});

check("dialect: operations of a batch have the key of the request", async (account) => {
  const container = await account.container();
  const operations = [{ operationType: "Create", resourceBody: { id: "1", pk: "b" }, partitionKey: "a" }];
  // The SDK tells of it in an error of its own, without the status.
  const error = await container.items.batch(operations, "b").catch((error) => error);
  ok(error.message?.includes("have a different partition key value than the request."), error.message);
});
