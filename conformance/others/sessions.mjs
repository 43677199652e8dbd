// express-session-cosmosdb: the sessions of a web server, kept in the emulator at COSMOS_TLS_ENDPOINT by an older version
// of the official SDK, which speaks TLS only.

import { deepStrictEqual as equal } from "node:assert/strict";
import { createRequire } from "node:module";
import { promisify } from "node:util";
const require = createRequire(import.meta.url);
const { CosmosClient } = createRequire(require.resolve("express-session-cosmosdb"))("@azure/cosmos");
const { default: CosmosSessionStore } = require("express-session-cosmosdb");

const [endpoint, key] = [process.env.COSMOS_TLS_ENDPOINT, process.env.COSMOS_KEY];
const database = `sessions-${process.pid}`;
const client = new CosmosClient({ endpoint, key });
const { database: made } = await client.databases.createIfNotExists({ id: database });
const collection = "sessions";
const { container } = await made.containers.create({ id: collection, partitionKey: { paths: ["/id"] }, defaultTtl: -1 });

const store = new CosmosSessionStore({ endpoint, key, database, collection, ttl: 100 });
const [get, set, touch, destroy] = ["get", "set", "touch", "destroy"].map((name) => promisify(store[name].bind(store)));

equal(await get("nobody"), null);
const session = { id: "s1", cookie: { path: "/", originalMaxAge: 1000 }, user: { name: "Ada", roles: ["a", "b"] } };
await set("s1", session);
const found = await get("s1");
equal(found.user, session.user);
equal(found.cookie, session.cookie);
equal((await container.item("s1", "s1").read()).resource.ttl, 100);

await set("s1", { ...session, user: { name: "Grace" } });
await touch("s1", { ...session, user: { name: "Grace" } });
equal((await get("s1")).user, { name: "Grace" });
await set("s2", { ...session, id: "s2" });
await destroy("s1");
equal(await get("s1"), null);
equal((await get("s2")).id, "s2");

// A session of a second is gone after it.
const brief = new CosmosSessionStore({ endpoint, key, database, collection, ttl: 1 });
await promisify(brief.set.bind(brief))("s3", { ...session, id: "s3" });
while ((await get("s3")) !== null);

await made.delete();
console.log("express-session-cosmosdb: passed");
