// botbuilder-azure: the state of bots, kept in the emulator at COSMOS_ENDPOINT.

import { deepStrictEqual as equal, ok, rejects } from "node:assert/strict";
import { createRequire } from "node:module";
import { CosmosClient } from "@azure/cosmos";
const { CosmosDbPartitionedStorage } = createRequire(import.meta.url)("botbuilder-azure");

const [endpoint, key] = [process.env.COSMOS_ENDPOINT, process.env.COSMOS_KEY];
const client = new CosmosClient({ endpoint, key });
const { database } = await client.databases.create({ id: `bots-${process.pid}` });

const open = (containerId, more = {}) =>
  new CosmosDbPartitionedStorage({
    cosmosDbEndpoint: endpoint,
    authKey: key,
    databaseId: database.id,
    containerId,
    compatibilityMode: false,
    ...more,
  });

const storage = open("state");
equal(await storage.read(["nobody"]), {});

// Keys of any characters, which the library escapes, and documents that come back as they were.
const state = { name: "Ada", list: [1, { two: null }], count: 1 };
const keys = ["user/1", "a?b#c\\d", "emoji 🚀"];
await storage.write(Object.fromEntries(keys.map((key) => [key, { ...state }])));
const found = await storage.read(keys);
equal(Object.keys(found).sort(), [...keys].sort());
for (const key of keys) {
  const { eTag, ...rest } = found[key];
  equal(rest, state);
  ok(eTag);
}

// Who writes with an old tag is refused; who writes with `*` is not.
const first = found["user/1"];
await storage.write({ "user/1": { ...first, count: 2 } });
await rejects(storage.write({ "user/1": { ...first, count: 3 } }));
await storage.write({ "user/1": { ...first, count: 4, eTag: "*" } });
equal((await storage.read(["user/1"]))["user/1"].count, 4);

// Deletes, also of what is not there.
await storage.delete(["user/1", "nobody"]);
equal(await storage.read(["user/1"]), {});

// Two storages in one container, apart by a suffix.
const [left, right] = [open("shared", { keySuffix: "left" }), open("shared", { keySuffix: "right" })];
await left.write({ key: { side: "left" } });
equal(await right.read(["key"]), {});
equal((await left.read(["key"])).key.side, "left");
await database.delete();
client.dispose();
console.log("botbuilder-azure: passed");
