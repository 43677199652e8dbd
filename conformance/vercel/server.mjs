// @vercel/cosmosdb-server with a certificate of the caller's: its own has expired.
// node server.mjs CERTIFICATE KEY: prints the port once it listens.
import { readFileSync } from "node:fs";
import { createHttpsServer } from "@vercel/cosmosdb-server";

const [cert, key] = process.argv.slice(2).map((path) => readFileSync(path));
const server = createHttpsServer({ cert, key }).listen(0, "127.0.0.1", () => console.log(server.address().port));
