// Account, databases, containers: made, found, changed, listed, queried, deleted.

import { check, equal, fails, fresh, ok } from "./harness.mjs";

check("the account lists its regions by the address used", async (account) => {
  const { resource } = await account.client.getDatabaseAccount();
  equal(resource.consistencyPolicy, "Session");
  equal(resource.writableLocations.length, 1);
  const strip = (url) => url.replace(/\/$/, "");
  equal(strip(resource.writableLocations[0].databaseAccountEndpoint), strip(account.endpoint));
});

check("a wrong key is refused", async (account) => {
  const key = Buffer.from("wrong key, wrong key").toString("base64");
  const client = account.connect({ key });
  await fails(401, () => client.databases.readAll().fetchAll());
  client.dispose();
});

check("a database is created, read and deleted", async (account) => {
  const id = fresh("db");
  const { database, statusCode } = await account.client.databases.create({ id });
  equal(statusCode, 201);
  equal((await database.read()).resource.id, id);
  await fails(409, () => account.client.databases.create({ id }));
  equal((await account.client.databases.createIfNotExists({ id })).statusCode, 200);
  await database.delete();
  await fails(404, () => database.read());
});

check("databases are listed and queried", async (account) => {
  const ids = [fresh("list"), fresh("list")];
  for (const id of ids) await account.client.databases.create({ id });
  const { resources } = await account.client.databases.readAll({ maxItemCount: 1 }).fetchAll();
  for (const id of ids) ok(resources.some((database) => database.id === id));
  const query = { query: "SELECT * FROM root r WHERE r.id = @id", parameters: [{ name: "@id", value: ids[0] }] };
  const found = await account.client.databases.query(query).fetchAll();
  equal(found.resources.map((database) => database.id), [ids[0]]);
  for (const id of ids) await account.client.database(id).delete();
});

check("a container is created with defaults, replaced and deleted", async (account) => {
  const container = await account.container();
  const { resource } = await container.read();
  equal(resource.partitionKey.paths, ["/pk"]);
  equal(resource.indexingPolicy.indexingMode, "consistent");
  ok(resource._rid && resource._self && resource._etag && resource._ts);
  const replaced = await container.replace({ ...resource, defaultTtl: 60 });
  equal(replaced.resource.defaultTtl, 60);
  const other = { id: resource.id, partitionKey: { paths: ["/other"] } };
  await fails(400, () => container.replace(other));
  await container.delete();
  await fails(404, () => container.read());
});

check("containers are listed and queried", async (account) => {
  const container = await account.container();
  const { resources } = await account.database.containers.readAll({ maxItemCount: 2 }).fetchAll();
  ok(resources.some((found) => found.id === container.id));
  const query = { query: "SELECT * FROM root r WHERE r.id = @id", parameters: [{ name: "@id", value: container.id }] };
  const found = await account.database.containers.query(query).fetchAll();
  equal(found.resources.map((found) => found.id), [container.id]);
});

check("a container that is there is found again", async (account) => {
  const container = await account.container();
  const again = await account.database.containers.createIfNotExists({
    id: container.id,
    partitionKey: { paths: ["/pk"] },
  });
  equal(again.statusCode, 200);
});

check("a partition key definition is read", async (account) => {
  const container = await account.container({ partitionKey: { paths: ["/a/b"], version: 2 } });
  equal((await container.getPartitionKeyDefinition()).resource.paths, ["/a/b"]);
});

check("partition ranges cover the key space without a gap", async (account) => {
  for (const [throughput, count] of [[400, 1], [12000, 2], [30000, 5]]) {
    const container = await account.container({ throughput });
    const { resources } = await container.readPartitionKeyRanges().fetchAll();
    const ranges = resources.sort((a, b) => (a.minInclusive < b.minInclusive ? -1 : 1));
    equal(ranges.length, count);
    equal(ranges[0].minInclusive, "");
    equal(ranges.at(-1).maxExclusive, "FF");
    for (let n = 1; n < count; n += 1) equal(ranges[n].minInclusive, ranges[n - 1].maxExclusive);
    equal((await container.getFeedRanges()).length, count);
  }
});

check("unique keys hold within a partition", async (account) => {
  const container = await account.container({ uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/email"] }] } });
  await container.items.create({ id: "1", pk: "a", email: "x" });
  await fails(409, () => container.items.create({ id: "2", pk: "a", email: "x" }));
  await container.items.create({ id: "2", pk: "b", email: "x" });
});

check("bad definitions are refused", async (account) => {
  await fails(400, () => account.container({ indexingPolicy: { includedPaths: [{ path: "no-slash" }] } }));
  await fails(400, () => account.container({ defaultTtl: 0 }));
});

check("definitions are checked and completed as the service does it", async (account) => {
  const spaced = await fails(400, () => account.container({ partitionKey: { paths: ["/id ds"], version: 2 } }));
  ok(spaced.message.includes("Partition key paths must contain only valid characters"), spaced.message);
  const shape = await fails(400, () => account.container({ indexingPolicy: { includedPaths: "all" } }));
  ok(shape.message.includes("One of the specified inputs is invalid"), shape.message);
  const container = await account.container({ indexingPolicy: { excludedPaths: [{ path: "/*" }] } });
  equal((await container.read()).resource.indexingPolicy.includedPaths, []);
  const manual = await account.container({ indexingPolicy: { automatic: false, indexingMode: "consistent" } });
  equal((await manual.read()).resource.indexingPolicy.automatic, true);
});

check("a container that was made again does not wait for what was seen of the old one", async (account) => {
  const container = await account.container();
  for (const n of [1, 2, 3]) await container.items.create({ id: `${n}`, pk: "a" });
  const { resource } = await container.read();
  await container.delete();
  await account.database.containers.create({ id: container.id, partitionKey: resource.partitionKey });
  await container.items.create({ id: "new", pk: "a" });
  equal((await container.item("new", "a").read()).resource.id, "new");
});

check("an offer is replaced as what it is", async (account) => {
  const container = await account.container({ throughput: 400 });
  const { resource: offer } = await container.readOffer();
  const wanted = { ...offer, content: { ...offer.content, offerThroughput: 500 } };
  equal((await account.client.offer(offer.id).replace(wanted)).resource.content.offerThroughput, 500);
  await fails(400, () => account.client.offer(offer.id).replace({ ...wanted, _rid: "NotAllowed" }));
  await fails(400, () => account.client.offer(offer.id).replace({ ...wanted, resource: undefined }));
  const low = { ...offer, content: { ...offer.content, offerThroughput: -200 } };
  const refused = await fails(400, () => account.client.offer(offer.id).replace(low));
  ok(refused.message.includes("Requested throughput -200 is less than required minimum throughput 400"), refused.message);
});

check("scripts are kept, read, replaced and deleted", async (account) => {
  const container = await account.container();
  equal((await container.conflicts.readAll().fetchAll()).resources, []);
  const { storedProcedures, triggers, userDefinedFunctions } = container.scripts;
  const trigger = { triggerType: "Pre", triggerOperation: "All" };
  for (const [kind, more] of [[storedProcedures, {}], [triggers, trigger], [userDefinedFunctions, {}]]) {
    const definition = { id: "s", body: "function () {}", ...more };
    await kind.create(definition);
    await fails(409, () => kind.create(definition));
    equal((await kind.readAll().fetchAll()).resources.map(({ id }) => id), ["s"]);
  }
  const script = container.scripts.storedProcedure("s");
  equal((await script.replace({ id: "s", body: "function () { }" })).resource.body, "function () { }");
  await script.delete();
  await fails(404, () => script.read());
});

check("computed properties are kept and queried", async (account) => {
  const computedProperties = [{ name: "lowerName", query: "SELECT VALUE LOWER(c.name) FROM c" }];
  const container = await account.container({ computedProperties });
  await container.items.create({ id: "1", pk: "a", name: "ADA" });
  const { resources } = await container.items.query("SELECT VALUE c.lowerName FROM c").fetchAll();
  equal(resources, ["ada"]);
});
