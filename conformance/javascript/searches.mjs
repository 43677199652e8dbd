// Searches: by distance, by text, and by both together; every one asks the emulator for a plan first.

import { check, equal, fails, ok, same, upTo } from "./harness.mjs";

const COUNT = 150;

/** Has `n % 7` times the word red among thirty words, and a vector at an angle that grows with `n`. */
const article = (n) => ({
  id: `i${n}`, pk: `p${n % 10}`, n,
  text: "red ".repeat(n % 7) + "blue ".repeat(30 - (n % 7)),
  vector: [Math.cos(n * 0.01), Math.sin(n * 0.01)],
});

const policies = (distanceFunction = "cosine", type = "diskANN") => ({
  vectorEmbeddingPolicy: { vectorEmbeddings: [{ path: "/vector", dataType: "float32", dimensions: 2, distanceFunction }] },
  fullTextPolicy: { defaultLanguage: "en-US", fullTextPaths: [{ path: "/text", language: "en-US" }] },
  indexingPolicy: {
    indexingMode: "consistent", automatic: true,
    includedPaths: [{ path: "/*" }], excludedPaths: [{ path: "/vector/*" }, { path: '/"_etag"/?' }],
    vectorIndexes: [{ path: "/vector", type }], fullTextIndexes: [{ path: "/text" }],
  },
});

async function articles(account, distanceFunction) {
  const container = await account.container({ throughput: 12000, ...policies(distanceFunction) });
  for (const n of upTo(COUNT)) await container.items.create(article(n));
  return container;
}

const ask = async (container, query, options = {}) => (await container.items.query(query, options).fetchAll()).resources;

check("search policies are stored and checked", async (account) => {
  const written = policies("euclidean", "quantizedFlat");
  const { resource } = await (await account.container(written)).read();
  equal(resource.vectorEmbeddingPolicy, written.vectorEmbeddingPolicy);
  equal(resource.fullTextPolicy, written.fullTextPolicy);
  equal(resource.indexingPolicy.vectorIndexes, written.indexingPolicy.vectorIndexes);
  equal(resource.indexingPolicy.fullTextIndexes, written.indexingPolicy.fullTextIndexes);
  const wrong = policies();
  wrong.indexingPolicy.vectorIndexes[0].type = "notFlat";
  const error = await fails(400, () => account.container(wrong));
  ok(error.message.includes("Index Type::notFlat is invalid"), error.message);
});

check("search: the nearest come first", async (account) => {
  for (const metric of ["cosine", "dotproduct", "euclidean"]) {
    const container = await articles(account, metric);
    const order = "ORDER BY VectorDistance(c.vector, [1, 0])";
    equal(await ask(container, `SELECT TOP 10 VALUE c.n FROM c ${order}`), upTo(10));
    equal(await ask(container, `SELECT VALUE c.n FROM c ${order} OFFSET 5 LIMIT 7`), upTo(12).slice(5));
    const query = {
      query: "SELECT TOP 3 c.n FROM c WHERE c.n > 3 ORDER BY VectorDistance(c.vector, @v)",
      parameters: [{ name: "@v", value: [1, 0] }],
    };
    equal((await ask(container, query)).map((row) => row.n), [4, 5, 6]);
    equal(await ask(container, `SELECT TOP 3 VALUE c.n FROM c ${order}`, { partitionKey: "p4" }), [4, 14, 24]);
  }
});

check("search: texts have terms", async (account) => {
  const container = await articles(account);
  const red = upTo(COUNT).filter((n) => n % 7);
  for (const [condition, expected] of [
    ["FullTextContains(c.text, 'reds')", red],
    ["FullTextContains(c.text, 'red blue')", red],
    ["FullTextContainsAll(c.text, 'red', 'blue')", red],
    ["FullTextContainsAny(c.text, 'green', 'blue')", upTo(COUNT)],
  ]) {
    same(await ask(container, `SELECT VALUE c.n FROM c WHERE ${condition}`), expected);
  }
});

check("search: texts are ranked", async (account) => {
  const container = await articles(account);
  const query = "SELECT TOP 50 c.n FROM c ORDER BY RANK FullTextScore(c.text, 'red')";
  const expected = upTo(COUNT).map((n) => n % 7).sort((a, b) => b - a).slice(0, 50);
  equal((await ask(container, query)).map((row) => row.n % 7), expected);
  const within = (await ask(container, query, { partitionKey: "p4" })).map((row) => row.n % 7);
  equal(within, upTo(15).map((n) => (n * 10 + 4) % 7).sort((a, b) => b - a));
});

/** What two ranks come to, where every item has both. */
function fused(n, [text, vector]) {
  const byText = text < 0 ? (n % 7) + 1 : 7 - (n % 7);
  const byVector = vector < 0 ? COUNT - n : n + 1;
  return Math.abs(text) / (60 + byText) + Math.abs(vector) / (60 + byVector);
}

check("search: ranks are fused", async (account) => {
  const container = await articles(account);
  const scores = "FullTextScore(c.text, 'red'), VectorDistance(c.vector, [1, 0])";
  for (const [weights, written] of [
    [[1, 1], ""], [[2, 0.5], ", [2, 0.5]"], [[1, -0.3], ", [1, -0.3]"], [[-1, -1], ", [-1, -1]"],
  ]) {
    const expected = upTo(COUNT).map((n) => fused(n, weights)).sort((a, b) => b - a);
    for (const [top, window, from] of [["TOP 80 ", "", 0], ["", " OFFSET 40 LIMIT 40", 40]]) {
      const found = await ask(container, `SELECT ${top}c.n FROM c ORDER BY RANK RRF(${scores}${written})${window}`);
      equal(found.map((row) => fused(row.n, weights)), expected.slice(from, 80));
    }
  }
});

check("search: ranks that mean nothing are refused", async (account) => {
  const container = await account.container(policies());
  for (const [query, words] of [
    ["SELECT TOP 5 * FROM c ORDER BY RANK c.n", "SC2221"],
    ["SELECT VALUE FullTextScore(c.text, 'a') FROM c", "SC2240"],
    ["SELECT TOP 5 * FROM c ORDER BY VectorDistance(c.vector, [1, 0]) ASC", "Specifying a sorting order (ASC or DESC)"],
  ]) {
    const error = await fails(400, () => ask(container, query));
    ok(JSON.stringify(error.body ?? error.message).includes(words), JSON.stringify(error));
  }
});
