// Users, permissions, and clients that have a resource token instead of the account's key.

import { CosmosClient, PermissionMode } from "@azure/cosmos";
import { check, equal, fails, fresh, ok } from "./harness.mjs";

/** A user with a permission, and the container as a client sees it that has nothing but the token. */
async function granted(account, container, mode, more = {}) {
  const { user } = await account.database.users.create({ id: fresh("u") });
  const { resource } = await user.permissions.create({
    id: "p",
    permissionMode: mode,
    resource: container.url,
    ...more,
  });
  const client = new CosmosClient({
    endpoint: account.endpoint,
    resourceTokens: { [container.url]: resource._token },
  });
  return { user, seen: client.database(account.database.id).container(container.id) };
}

check("users are made, listed, queried, replaced and deleted", async ({ database }) => {
  const id = fresh("u");
  const { user } = await database.users.create({ id });
  await fails(409, () => database.users.create({ id }));
  equal((await user.read()).resource.id, id);
  const { resources: all } = await database.users.readAll().fetchAll();
  ok(all.some((found) => found.id === id));
  const query = { query: "SELECT * FROM root r WHERE r.id = @id", parameters: [{ name: "@id", value: id }] };
  equal((await database.users.query(query).fetchAll()).resources.length, 1);
  await user.replace({ id: `${id}-anew` });
  await database.user(`${id}-anew`).delete();
  await fails(404, () => database.user(`${id}-anew`).read());
});

check("permissions are made, listed, replaced and deleted", async (account) => {
  const container = await account.container();
  const { user } = await account.database.users.create({ id: fresh("u") });
  const definition = { id: "p", permissionMode: PermissionMode.Read, resource: container.url };
  const { permission, resource } = await user.permissions.create(definition);
  ok(resource._token.startsWith("type=resource&ver="));
  equal(resource.permissionMode.toLowerCase(), "read");
  ok((await permission.read()).resource._token !== resource._token);
  equal((await user.permissions.readAll().fetchAll()).resources.map(({ id }) => id), ["p"]);
  const replaced = await permission.replace({ ...definition, permissionMode: PermissionMode.All });
  equal(replaced.resource.permissionMode.toLowerCase(), "all");
  await permission.delete();
  await fails(404, () => permission.read());
});

check("a token for reading reads and writes nothing", async (account) => {
  const container = await account.container();
  await container.items.create({ id: "1", pk: "a" });
  const { seen } = await granted(account, container, PermissionMode.Read);
  equal((await seen.item("1", "a").read()).resource.id, "1");
  equal((await seen.items.query("SELECT VALUE c.id FROM c").fetchAll()).resources, ["1"]);
  equal((await seen.items.readAll().fetchAll()).resources.length, 1);
  await fails(403, () => seen.items.create({ id: "2", pk: "a" }));
  await fails(403, () => seen.item("1", "a").delete());
  await fails(403, () => seen.delete());
});

check("a token for everything writes in its container", async (account) => {
  const container = await account.container();
  const { user, seen } = await granted(account, container, PermissionMode.All);
  await seen.items.create({ id: "1", pk: "a" });
  await seen.items.upsert({ id: "1", pk: "a", n: 1 });
  await seen.item("1", "a").replace({ id: "1", pk: "a", n: 2 });
  await seen.item("1", "a").delete();
  await fails(403, () => seen.delete());
  // Nothing ends a token before its time.
  await user.permission("p").delete();
  await seen.items.create({ id: "1", pk: "a" });
  await user.delete();
  equal((await seen.item("1", "a").read()).resource.id, "1");
});

check("a token for a partition key opens that key", async (account) => {
  const container = await account.container();
  for (const pk of [1, 2]) await container.items.create({ id: "1", pk });
  const { seen } = await granted(account, container, PermissionMode.All, { resourcePartitionKey: [1] });
  await seen.items.create({ id: "2", pk: 1 });
  await fails(403, () => seen.items.create({ id: "2", pk: 2 }));
  await fails(403, () => seen.item("1", 2).read());
  const { resources } = await seen.items.query("SELECT VALUE c.id FROM c", { partitionKey: 1 }).fetchAll();
  equal(resources.sort(), ["1", "2"]);
  await seen.item("2", 1).delete();
});
