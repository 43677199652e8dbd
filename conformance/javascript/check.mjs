// Runs every check of the JavaScript SDK against the emulator at COSMOS_ENDPOINT.
// Arguments select the checks whose names contain one of them.

import "./resources.mjs";
import "./items.mjs";
import "./batches.mjs";
import "./scripts.mjs";
import "./permissions.mjs";
import "./queries.mjs";
import "./spatial.mjs";
import "./searches.mjs";
import "./dialect.mjs";
import "./feeds.mjs";
import "./throughput.mjs";
import { run } from "./harness.mjs";

process.exitCode = await run(process.argv.slice(2));
