// Creates items in bulk through the JavaScript SDK, and prints how long that took and what it cost.
// node bulk.mjs DATABASE CONTAINER COUNT

import { CosmosClient } from "@azure/cosmos";

const [database, name, count] = process.argv.slice(2);
const client = new CosmosClient({ endpoint: process.env.COSMOS_ENDPOINT, key: process.env.COSMOS_KEY });
const container = client.database(database).container(name);
const text = "some text that makes it a bit longer ".repeat(3);
const operations = [];
for (let n = 0; n < Number(count); n++) {
  const pk = `key ${n % 5000}`;
  operations.push({ operationType: "Create", partitionKey: pk, resourceBody: { id: String(n), pk, n, text } });
}
const started = performance.now();
const results = await container.items.executeBulkOperations(operations);
const seconds = (performance.now() - started) / 1000;
const failed = results.filter((result) => result.error || !(result.response?.statusCode < 300));
const charge = results.reduce((sum, result) => sum + (result.response?.requestCharge ?? 0), 0);
if (failed.length > 0) {
  console.error(`${failed.length} failed: ${JSON.stringify(failed[0]).slice(0, 300)}`);
}
console.log(JSON.stringify({ seconds, charge, failed: failed.length }));
