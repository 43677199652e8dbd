// Queries: every one asks the emulator for a plan first, then runs it and merges.

import { check, equal, fails, numbered, ok, same, upTo } from "./harness.mjs";

const all = upTo(40).map(numbered);
const ask = async (container, query, options = {}) => (await container.items.query(query, options).fetchAll()).resources;

check("queries within a key", async (account) => {
  const container = await account.spreadContainer();
  same(await ask(container, "SELECT VALUE c.n FROM c", { partitionKey: "p3" }), [3, 13, 23, 33]);
  equal(await ask(container, "SELECT VALUE c.n FROM c ORDER BY c.n DESC", { partitionKey: "p3" }), [33, 23, 13, 3]);
  const query = { query: "SELECT VALUE c.n FROM c WHERE c.n > @n", parameters: [{ name: "@n", value: 13 }] };
  same(await ask(container, query, { partitionKey: "p3" }), [23, 33]);
});

check("queries across partitions", async (account) => {
  const container = await account.spreadContainer();
  same(await ask(container, "SELECT VALUE c.n FROM c WHERE c.even"), upTo(40).filter((n) => n % 2 === 0));
  same(await ask(container, "SELECT VALUE c.n FROM c WHERE c.pk = 'p4'"), [4, 14, 24, 34]);
  same((await container.items.readAll({ maxItemCount: 7 }).fetchAll()).resources.map((item) => item.n), upTo(40));
});

check("order across partitions", async (account) => {
  const container = await account.spreadContainer();
  equal(await ask(container, "SELECT VALUE c.n FROM c ORDER BY c.n"), upTo(40));
  equal(await ask(container, "SELECT VALUE c.n FROM c ORDER BY c.n DESC", { maxItemCount: 3 }), upTo(40).reverse());
  const rows = await ask(container, "SELECT * FROM c WHERE c.n > 36 ORDER BY c.n");
  equal(rows.map((row) => row.id), ["i37", "i38", "i39"]);
});

check("aggregates across partitions", async (account) => {
  const container = await account.spreadContainer();
  for (const [expression, expected] of [
    ["COUNT(1)", 40], ["SUM(c.n)", 780], ["AVG(c.n)", 19.5], ["MIN(c.n)", 0], ["MAX(c.n)", 39], ["MAX(c.id)", "i9"],
  ]) {
    equal(await ask(container, `SELECT VALUE ${expression} FROM c`), [expected]);
  }
});

check("groups across partitions", async (account) => {
  const container = await account.spreadContainer();
  const query = "SELECT c.group, COUNT(1) AS count, SUM(c.n) AS sum, MIN(c.n) AS least, MAX(c.n) AS most, AVG(c.n) AS mean FROM c GROUP BY c.group";
  const expected = [0, 1, 2].map((group) => {
    const ns = all.filter((item) => item.group === `g${group}`).map((item) => item.n);
    const sum = ns.reduce((a, b) => a + b, 0);
    return { group: `g${group}`, count: ns.length, sum, least: ns[0], most: ns.at(-1), mean: sum / ns.length };
  });
  same((await ask(container, query)).map((row) => ({ ...row })), expected);
  same(await ask(container, "SELECT VALUE COUNT(1) FROM c GROUP BY c.even"), [20, 20]);
});

check("distinct values across partitions", async (account) => {
  const container = await account.spreadContainer();
  same(await ask(container, "SELECT DISTINCT VALUE c.group FROM c"), ["g0", "g1", "g2"]);
  equal(await ask(container, "SELECT DISTINCT VALUE c.group FROM c ORDER BY c.group"), ["g0", "g1", "g2"]);
  equal((await ask(container, "SELECT DISTINCT c.group, c.even FROM c", { maxItemCount: 4 })).length, 6);
});

check("top, offset and limit across partitions", async (account) => {
  const container = await account.spreadContainer();
  equal(await ask(container, "SELECT TOP 5 VALUE c.n FROM c ORDER BY c.n"), [0, 1, 2, 3, 4]);
  equal((await ask(container, "SELECT TOP 7 * FROM c", { maxItemCount: 2 })).length, 7);
  equal(await ask(container, "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 10 LIMIT 3"), [10, 11, 12]);
  equal((await ask(container, "SELECT * FROM c OFFSET 35 LIMIT 10")).length, 5);
});

check("several sort keys use a composite index", async (account) => {
  const compositeIndexes = [[{ path: "/group", order: "ascending" }, { path: "/n", order: "descending" }]];
  const indexingPolicy = { indexingMode: "consistent", includedPaths: [{ path: "/*" }], compositeIndexes };
  const container = await account.spreadContainer(40, { indexingPolicy });
  const expected = [...all].sort((a, b) => (a.group === b.group ? b.n - a.n : a.group < b.group ? -1 : 1));
  equal(await ask(container, "SELECT VALUE c.n FROM c ORDER BY c.group ASC, c.n DESC"), expected.map((item) => item.n));
  await fails(400, () => ask(container, "SELECT VALUE c.n FROM c ORDER BY c.n, c.even"));
});

check("pages are as asked and continue", async (account) => {
  const container = await account.spreadContainer();
  const seen = [];
  let continuationToken;
  do {
    const options = { partitionKey: "p2", maxItemCount: 3, continuationToken };
    const page = await container.items.query("SELECT VALUE c.n FROM c", options).fetchNext();
    ok(page.resources.length <= 3);
    seen.push(...page.resources);
    continuationToken = page.continuationToken;
  } while (continuationToken);
  same(seen, [2, 12, 22, 32]);
});

check("joins, arrays and functions", async (account) => {
  const container = await account.container();
  await container.items.create({ id: "1", pk: "a", tags: ["x", "y"], s: "Hello Wörld" });
  equal(await ask(container, "SELECT c.id, t AS tag FROM c JOIN t IN c.tags"), [{ id: "1", tag: "x" }, { id: "1", tag: "y" }]);
  equal(await ask(container, "SELECT VALUE UPPER(c.s) FROM c WHERE CONTAINS(c.s, 'wör', true)"), ["HELLO WÖRLD"]);
  equal(await ask(container, "SELECT VALUE ARRAY_LENGTH(c.tags) FROM c WHERE ARRAY_CONTAINS(c.tags, 'y')"), [2]);
});

check("a query plan says what it must", async (account) => {
  const container = await account.container();
  const { result } = await container.getQueryPlan("SELECT TOP 3 c.a FROM c WHERE c.b > 1 ORDER BY c.a DESC");
  equal(result.partitionedQueryExecutionInfoVersion, 2);
  equal(result.queryInfo.top, 3);
  equal(result.queryInfo.orderBy, ["Descending"]);
  equal(result.queryInfo.orderByExpressions, ["c.a"]);
  ok(result.queryInfo.rewrittenQuery.length > 0 && result.queryRanges.length > 0);
});

check("mistakes are 400", async (account) => {
  const container = await account.container();
  for (const query of ["SELEC * FROM c", "SELECT * FROM c WHERE", "SELECT VALUE NOSUCH(c.x) FROM c"]) {
    await fails(400, () => ask(container, query));
  }
});

check("metrics and charge are told", async (account) => {
  const container = await account.spreadContainer();
  const options = { populateQueryMetrics: true, populateIndexMetrics: true, partitionKey: "p5" };
  const answer = await container.items.query("SELECT * FROM c WHERE c.n = 5", options).fetchAll();
  equal(answer.resources.length, 1);
  ok(answer.requestCharge > 0);
  ok(JSON.stringify(answer.headers["x-ms-documentdb-query-metrics"]).length > 2);
});
