// Stored procedures, triggers and user-defined functions: kept, run, and undone when they throw.

import { check, equal, fails, ok } from "./harness.mjs";

const procedure = (container, body) => container.scripts.storedProcedures.create({ id: "p", body });
const execute = (container, parameters, options) => container.scripts.storedProcedure("p").execute("a", parameters, options);

check("scripts are created, read, replaced, queried and deleted", async (account) => {
  const { scripts } = await account.container();
  await scripts.storedProcedures.create({ id: "p", body: "function () {}" });
  await scripts.triggers.create({ id: "t", body: "function () {", triggerType: "pre", triggerOperation: "all" });
  await scripts.userDefinedFunctions.create({ id: "u", body: "function () {}" });
  equal((await scripts.storedProcedure("p").read()).resource.body, "function () {}");
  await scripts.storedProcedure("p").replace({ id: "p", body: "function () { return 1; }" });
  const found = await scripts.storedProcedures.query("SELECT * FROM r WHERE r.id = 'p'").fetchAll();
  equal(found.resources.map((one) => one.body), ["function () { return 1; }"]);
  equal((await scripts.triggers.readAll().fetchAll()).resources.map((one) => one.triggerType), ["pre"]);
  await scripts.userDefinedFunction("u").delete();
  await fails(404, () => scripts.userDefinedFunction("u").delete());
});

check("a procedure takes functions and parameters, and answers", async (account) => {
  const container = await account.container();
  await procedure(container, function (a, b) {
    getContext().getResponse().setBody([b, a]);
  });
  equal((await execute(container, [1, { x: "y" }])).resource, [{ x: "y" }, 1]);
  equal((await container.scripts.storedProcedure("p").execute(undefined, [1, 2])).resource, [2, 1]);
});

check("a procedure that throws leaves nothing", async (account) => {
  const container = await account.container();
  await procedure(container, function (fails) {
    __.createDocument(__.getSelfLink(), { id: "1", pk: "a" }, (err) => {
      if (err) throw err;
      if (fails) throw new Error(4444, "own words");
    });
  });
  const error = await fails(400, () => execute(container, [true]), 4444);
  ok(error.message.includes("own words"), error.message);
  equal((await container.item("1", "a").read()).statusCode, 404);
  await execute(container, [false]);
  await fails(400, () => execute(container, [false]), 409);
});

check("a procedure deletes what it finds until nothing is left", async (account) => {
  const container = await account.container();
  for (let n = 0; n < 30; n += 1) await container.items.create({ id: String(n), pk: "a" });
  await procedure(container, function () {
    let deleted = 0;
    (function query() {
      __.queryDocuments(__.getSelfLink(), "SELECT * FROM c", { pageSize: 8 }, (err, docs) => {
        if (err) throw err;
        if (docs.length === 0) return __.response.setBody(deleted);
        let left = docs.length;
        for (const doc of docs) {
          __.deleteDocument(doc._self, (err) => {
            if (err) throw err;
            deleted += 1;
            left -= 1;
            if (left === 0) query();
          });
        }
      });
    })();
  });
  equal((await execute(container, [])).resource, 30);
});

check("the query interface of scripts", async (account) => {
  const container = await account.container();
  for (let n = 0; n < 5; n += 1) await container.items.create({ id: String(n), pk: "a", n });
  await procedure(container, function () {
    __.chain()
      .filter((doc) => doc.n > 1)
      .sortByDescending((doc) => doc.n)
      .pluck("n")
      .value((err, feed) => __.response.setBody(feed));
  });
  equal((await execute(container, [])).resource, [4, 3, 2]);
});

check("what a procedure logs comes back", async (account) => {
  const container = await account.container();
  await procedure(container, "function () { console.log('The value of %s is %s.', 'x', 1); }");
  const logged = await execute(container, [], { enableScriptLogging: true });
  equal(logged.headers["x-ms-documentdb-script-log-results"], "The%20value%20of%20x%20is%201.");
});

check("triggers run around a write", async (account) => {
  const container = await account.container();
  await container.scripts.triggers.create({
    id: "before",
    body: "function () { const r = getContext().getRequest(), b = r.getBody(); b.by = r.getOperationType(); r.setBody(b); }",
    triggerType: "pre",
    triggerOperation: "all",
  });
  await container.scripts.triggers.create({
    id: "after",
    body: "function () { const r = getContext().getResponse(), b = r.getBody(); b.shown = true; r.setBody(b); }",
    triggerType: "post",
    triggerOperation: "create",
  });
  const { resource } = await container.items.create(
    { id: "1", pk: "a" },
    { preTriggerInclude: "before", postTriggerInclude: "after" },
  );
  equal([resource.by, resource.shown], ["Create", true]);
  equal((await container.item("1", "a").read()).resource.shown, undefined);
  await fails(400, () => container.items.upsert({ id: "1", pk: "a" }, { postTriggerInclude: "after" }));
});

check("queries call functions", async (account) => {
  const container = await account.container();
  await container.scripts.userDefinedFunctions.create({ id: "tax", body: "function (n) { return n * 2; }" });
  for (let n = 0; n < 6; n += 1) await container.items.create({ id: String(n), pk: "ab"[n % 2], n });
  const text = "SELECT VALUE udf.tax(c.n) FROM c WHERE udf.tax(c.n) > 4";
  const { resources } = await container.items.query(text).fetchAll();
  equal(resources.sort((a, b) => a - b), [6, 8, 10]);
});
