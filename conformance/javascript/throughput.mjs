// Throughput, manual and autoscale, through offers.

import { check, equal, fails, fresh, ok } from "./harness.mjs";

check("manual throughput is read and replaced", async (account) => {
  const container = await account.container({ throughput: 800 });
  const { resource, offer } = await container.readOffer();
  equal(resource.content.offerThroughput, 800);
  resource.content.offerThroughput = 1200;
  equal((await offer.replace(resource)).resource.content.offerThroughput, 1200);
  equal((await offer.read()).resource.content.offerThroughput, 1200);
});

check("autoscale throughput is read and replaced", async (account) => {
  const container = await account.container({ maxThroughput: 4000 });
  const { resource, offer } = await container.readOffer();
  equal(resource.content.offerAutopilotSettings.maxThroughput, 4000);
  resource.content.offerAutopilotSettings.maxThroughput = 8000;
  const replaced = await offer.replace(resource);
  equal(replaced.resource.content.offerAutopilotSettings.maxThroughput, 8000);
});

check("throughput shared by a database", async (account) => {
  const { database } = await account.client.databases.create({ id: fresh("shared"), throughput: 600 });
  equal((await database.readOffer()).resource.content.offerThroughput, 600);
  const { container } = await database.containers.create({ id: "c", partitionKey: { paths: ["/pk"] } });
  equal((await container.readOffer()).resource, undefined);
  await database.delete();
});

check("offers are listed and queried", async (account) => {
  const container = await account.container();
  const { resource } = await container.read();
  const listed = await account.client.offers.readAll().fetchAll();
  ok(listed.resources.some((offer) => offer.offerResourceId === resource._rid));
  const query = `SELECT * FROM root r WHERE r.offerResourceId = '${resource._rid}'`;
  equal((await account.client.offers.query(query).fetchAll()).resources.length, 1);
});

check("throughput that cannot be is refused", async (account) => {
  await fails(400, () => account.container({ throughput: 100 }));
});
