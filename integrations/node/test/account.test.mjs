// The package as a test uses it, with the official SDK.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
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

test("an account ends with a process that is killed", async () => {
  const program = `
    import { start } from "cosmonaut-testing";
    const { endpoint } = await start();
    console.log(endpoint);
    setInterval(() => {}, 1000);`;
  const options = { cwd: new URL(".", import.meta.url).pathname, stdio: ["ignore", "pipe", "inherit"] };
  const user = spawn(process.execPath, ["--input-type=module", "--eval", program], options);
  const [line] = await once(user.stdout.setEncoding("utf8"), "data");
  const answers = () => fetch(line.trim()).then(() => true, () => false);
  assert.ok(await answers());
  user.kill("SIGKILL");
  while (await answers()) await new Promise((resolve) => setTimeout(resolve, 20));
});

test("what is never ready is ended", async () => {
  // A program that waits for the end of its input, whatever its arguments.
  const waits = new URL("waits.sh", import.meta.url).pathname;
  await assert.rejects(start({ binary: waits, timeout: 100 }), /not ready within 100 ms/);
});
