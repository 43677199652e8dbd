// The package as a test uses it, with the official SDK.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { inspect } from "node:util";

import { CosmosClient } from "@azure/cosmos";
import { start } from "cosmonaut-testing";

let account;
before(async () => (account = await start()));
after(async () => assert.equal(await account.stop(), 0));

for (const turn of [1, 2]) {
  test(`each test has a database of its own (${turn})`, async () => {
    const client = new CosmosClient({ endpoint: account.endpoint, key: account.key });
    const { database } = await client.databases.create({ id: account.databaseName() });
    const { container } = await database.containers.create({ id: "orders", partitionKey: "/customer" });
    await container.items.create({ id: "7", customer: "contoso", turn });
    const { resource } = await container.item("7", "contoso").read();
    assert.equal(resource.turn, turn);
    client.dispose();
  });
}

test("the connection string connects and the key is not shown", async () => {
  const client = new CosmosClient(account.connectionString);
  assert.ok((await client.getDatabaseAccount()).resource);
  assert.ok(!inspect(account).includes(account.key));
  client.dispose();
});

test("what cannot be started says why", async () => {
  await assert.rejects(start({ args: ["--consistency", "none"] }), /--consistency/);
  await assert.rejects(start({ binary: "/no/such/binary" }), /cargo install/);
});
