// The controls that nothing else presses: of regions and partitions, of a container and its items, of a query, and of what
// has stopped for good.
'use strict';

const PLACE = '?database=duroxide&container=duroxide';

async function containerControls(tab, base, fail) {
  const made = await tab.api('POST', 'databases', { id: 'ctl' });
  if (made.status !== 200) fail(JSON.stringify(made));
  await tab.api('POST', 'databases/ctl', { properties: { id: 'things', partitionKey: { paths: ['/id'], kind: 'Hash', version: 2 } }, throughput: { manual: 400 } });
  for (const id of ['a', 'b', 'c']) await tab.api('POST', 'items/ctl/things/item', { text: `{"id":"${id}","total":1,"note":"n"}` });

  await tab.open(`${base}/data/ctl/things`);
  await tab.says('all 3 of them');
  const heads = () => tab.evaluate('[...document.querySelectorAll("[role=columnheader]")].map(one => one.innerText.trim()).filter(Boolean).join()');
  if (await heads() !== 'id,total,note') fail(`the columns are ${await heads()}`);
  await tab.click('Columns');
  await tab.until('the columns to choose', 'Boolean(document.querySelector("dialog input[value=_ts]"))');
  await tab.evaluate('document.querySelector("dialog input[value=note]").click()');
  await tab.evaluate('document.querySelector("dialog input[value=_ts]").click()');
  await tab.click('Use');
  await tab.until('the chosen columns', 'new URLSearchParams(location.search).get("cols") === "id,total,_ts"');
  await tab.until('their heads', '[...document.querySelectorAll("[role=columnheader]")].map(one => one.innerText.trim()).filter(Boolean).join() === "id,total,_ts"');
  await tab.shot('controls-columns');
  await tab.click('Columns');
  await tab.click('As found');
  await tab.until('the columns as found', '!location.search.includes("cols")');

  await tab.open(`${base}/data/ctl/things/settings`);
  await tab.says('Definition');
  await tab.click('Count');
  await tab.until('the number of items', '/Items\\s+3 \\(/.test(document.querySelector("main").innerText)');
  await tab.type('Request units per second', '600');
  await tab.click('Change', 'section button');
  await tab.says('The throughput is changed');
  const throughput = (await tab.api('GET', 'containers/ctl/things')).throughput;
  if (throughput?.manual !== 600) fail(`the throughput is ${JSON.stringify(throughput)}`);
  await tab.open(`${base}/data/ctl/things/settings`);
  await tab.until('the new throughput in its field', 'document.querySelector("input[type=number]").value === "600"');
  const definition = JSON.parse(await tab.evaluate('document.querySelector("textarea").value'));
  await tab.type('The definition as JSON', JSON.stringify({ ...definition, defaultTtl: 3600 }));
  await tab.click('Save');
  await tab.says('The definition is changed');
  await tab.says('3600 s');
  await tab.type('The definition as JSON', '{ "id": ');
  await tab.click('Save');
  await tab.until('a problem of the definition', 'Boolean(document.querySelector(".problem"))');
  await tab.shot('controls-settings');
  await tab.open(`${base}/data/ctl/things/settings`);
  await tab.click('Delete container');
  await tab.type('The name', 'thing');
  await tab.click('Delete', 'dialog button');
  if (!await tab.evaluate('Boolean(document.querySelector("dialog[open]"))')) fail('a container is deleted by another name');
  await tab.type('The name', 'things');
  await tab.click('Delete', 'dialog button');
  await tab.says('container things is deleted');
  if ((await tab.api('GET', 'containers/ctl/things')).status !== 404) fail('the container is still there');
  console.log('  columns are chosen, items counted, throughput and definition changed, a container deleted');
}

async function queryControls(tab, base, fail) {
  await tab.api('POST', 'manage/faults', { effect: 'slow', delay: '60s', container: 'shop/orders', operations: 'read' });
  await tab.open(`${base}/query/shop/orders?q=SELECT%20VALUE%201`);
  await tab.says('Ctrl Enter');
  await tab.click('Run');
  await tab.says('Running…');
  await tab.click('Cancel', '.filters button');
  await tab.says('Cancelled.');
  await tab.until('a query that can be run', '![...document.querySelectorAll("button")].find(one => one.innerText === "Run").disabled');
  // Nothing is lifted before: the account, too, has stopped to work for it.
  await tab.go('/requests?status=failed&path=orders');
  await tab.until('the request that was cut off', '[...document.querySelectorAll(".grid-rows [role=row]")].some(row => row.innerText.includes("cut off") && row.innerText.includes("slow"))');
  await tab.api('DELETE', 'manage/faults');
  await tab.go('/query/shop/orders?q=SELECT%20VALUE%202');
  await tab.says('Ctrl Enter');
  await tab.click('Run');
  await tab.says('1 row');
  await tab.type('Query', 'SELECT VALUE 3');
  await tab.click('History');
  await tab.click('Take');
  await tab.until('the query of the history', 'document.querySelector("textarea").value === "SELECT VALUE 2"');
  if (await tab.evaluate('Boolean(document.querySelector("dialog[open]"))')) fail('the history stays open');

  const item = 'items/shop/orders/item?id=taken&pk=%5B%22contoso%22%5D';
  await tab.api('POST', 'items/shop/orders/item', { text: '{"id":"taken","customer":"contoso","n":1}' });
  await tab.open(`${base}/data/shop/orders/item?id=taken&pk=%5B%22contoso%22%5D`);
  await tab.says('etag');
  await tab.type('Item taken as JSON', '{"id":"taken","customer":"contoso","n":2}');
  await tab.api('PUT', item, { text: '{"id":"taken","customer":"contoso","n":3}' });
  await tab.key('s', 2);
  await tab.says('Somebody has changed this item');
  await tab.click('Take theirs');
  await tab.until('theirs', 'document.querySelector("textarea").value.includes("\\"n\\": 3")');
  await tab.api('DELETE', item);
  console.log('  a query that takes long is cancelled, one is taken from the history, and an item of somebody else is taken');
}

async function orchestrationControls(tab, base, fail) {
  await tab.open(`${base}/orchestrations${PLACE}`);
  await tab.says('instances');
  await tab.click('Prune');
  await tab.click('Prune', 'dialog button');
  await tab.says('Removed 0 executions');
  await tab.click('Stopped for good', '[role=tab]');
  await tab.until('what was given up', '[...document.querySelectorAll("td")].some(one => one.innerText === "lost")');
  await tab.shot('controls-dead');
  await tab.click('Retry', 'td button');
  await tab.type('As a new instance', 'lost-again');
  await tab.click('Retry', 'dialog button');
  await tab.says('It is tried again as lost-again');
  // Nobody runs it, so it waits.
  await tab.click('Over time', '[role=tab]');
  await tab.until('plots of what waits', 'document.querySelectorAll("figure.plot svg").length === 4 && /[1-9][0-9]* messages .* wait now/.test(document.querySelector("figure.plot svg").getAttribute("aria-label"))');
  await tab.askedAgain('/api/durable/metrics');
  if (await tab.evaluate('document.getElementById("said").innerText.includes("abort")')) fail('who goes on to another page is told of what was left');
  await tab.until('lines in all plots', '[...document.querySelectorAll("figure.plot svg")].every(one => one.querySelector("path"))');
  await tab.shot('orchestrations-over-time');
  await tab.open(`${base}/orchestrations/order-3${PLACE}`);
  await tab.says('Timeline');
  await tab.click('Prune');
  await tab.click('Prune', 'dialog button');
  await tab.says('Its past executions are removed');
  if ((await tab.api('GET', `durable/instance/order-3${PLACE}`)).status !== 200) fail('pruning has removed more than past executions');
  console.log('  orchestrations are pruned, what has stopped for good is tried again, and what waits is seen over time');
}

// On an account whose partitions may fail over one by one.
async function regionControls(tab, base, fail) {
  await tab.api('POST', 'databases', { id: 'ctl' });
  await tab.api('POST', 'databases/ctl', { properties: { id: 'parts', partitionKey: { paths: ['/id'], kind: 'Hash', version: 2 } } });
  await tab.api('POST', 'items/ctl/parts/item', { text: '{"id":"a"}' });
  await tab.open(`${base}/regions`);
  await tab.until('regions', 'document.querySelectorAll(".place").length === 3');
  const regions = async () => (await tab.api('GET', 'manage/regions')).regions;
  const partitions = async () => (await tab.api('GET', 'manage/partitions/ctl/parts')).partitions;

  await tab.click('Lag', 'tr[data-key="East US West US"] button');
  await tab.type('Lag', '70ms');
  await tab.click('Set');
  await tab.says('cosmonaut region lag 70ms --from');
  await tab.until('the new lag', 'document.querySelector(\'tr[data-key="East US West US"]\').innerText.includes("lag 70ms")');
  const link = (await tab.api('GET', 'manage/links')).links.find(one => one.from === 'East US' && one.to === 'West US');
  if (link.lag !== '70ms') fail(`the lag is ${link.lag}`);

  await tab.click('Add region');
  await tab.type('Name', 'Japan East');
  await tab.click('Add', 'dialog button');
  await tab.until('four regions', 'document.querySelectorAll(".place").length === 4');
  await tab.shot('controls-four-regions');
  await tab.click('Remove', '[aria-label="Japan East"] button');
  await tab.click('Remove', 'dialog button');
  await tab.until('three regions again', 'document.querySelectorAll(".place").length === 3');

  await tab.click('Split', 'tr[data-key="0"] button');
  await tab.click('Split', 'dialog button');
  await tab.says('cosmonaut region split ctl/parts 0');
  await tab.until('two partitions', 'Boolean(document.querySelector(\'tr[data-key="1"]\') && document.querySelector(\'tr[data-key="2"]\'))');
  if ((await partitions()).length !== 2) fail(`the partitions are ${JSON.stringify(await partitions())}`);

  await tab.click('Move writes', 'tr[data-key="1"] button');
  await tab.choose('To', 'West US');
  await tab.click('Move', 'dialog button');
  await tab.says('cosmonaut region partition failover ctl/parts 1');
  await tab.until('the writes to have moved', 'document.querySelector(\'tr[data-key="1"]\').innerText.includes("West US")');
  const moved = (await partitions()).find(one => one.id === '1');
  if (moved.writer !== 'West US') fail(`the writer is ${moved.writer}`);
  await tab.click('Fail', 'tr[data-key="1"] button');
  await tab.says('New fault');
  await tab.click('Add', 'dialog button');
  await tab.says('partition 1');
  await tab.click('Lift', 'tr button');
  await tab.says('Nothing is broken');
  await tab.shot('controls-partitions');

  await tab.click('Fail over here', '[aria-label="West US"] button');
  await tab.click('Fail over', 'dialog button');
  await tab.says('cosmonaut region failover');
  await tab.until('West US to take the writes', 'document.querySelector(\'[aria-label="West US"]\').innerText.includes("takes writes")');
  const writers = (await regions()).filter(one => one.takesWrites).map(one => one.name).join();
  if (writers !== 'West US') fail(`writes go to ${writers}`);
  await tab.api('POST', 'manage/failover', { to: 'East US', forced: false });
  console.log('  a lag is set, a region added and removed, a partition split, failed and moved, and the writes failed over');
}

// Diagnostics that a driver has printed, joined with what was seen of them.
async function diagnostics(tab, base, fail) {
  await tab.open(`${base}/requests`);
  await tab.says('live');
  const found = await tab.api('POST', 'query/shop/orders', { query: 'SELECT TOP 3 * FROM c', parameters: [], pk: null, max: 10, next: null });
  const text = found.diagnostics.map(one => JSON.stringify(one)).join('\n');
  if (!text.includes('"attempts"')) fail(`a query has no diagnostics: ${JSON.stringify(found).slice(0, 300)}`);
  await tab.click('Diagnostics');
  await tab.type('Diagnostics, as JSON', 'nothing of that kind');
  await tab.click('Show');
  await tab.says('No diagnostics are found in this');
  await tab.type('Diagnostics, as JSON', '{"operation":"Read","elapsedMs":1,"attempts":[{"startedMs":"soon"}]}');
  await tab.click('Show');
  await tab.says('Attempt 1 of operation 1 has no time "startedMs"');
  await tab.type('Diagnostics, as JSON', `12:00:01 slow: ${text}`);
  await tab.click('Show');
  await tab.says('One bar an attempt');
  await tab.says('Seen here of');
  await tab.until('bars, and what was seen here', 'document.querySelectorAll("dialog .bars .track").length > 0 && document.querySelectorAll("dialog td button").length > 0');
  await tab.shot('diagnostics');
  await tab.evaluate('document.querySelector("dialog td button").click()');
  await tab.until('the request', '/^\\/requests\\/\\d+$/.test(location.pathname) && document.querySelector("dialog h2")?.innerText.startsWith("Request ")');
  await tab.click('Close');
  const shapes = await tab.evaluate(`import('/page/lib/diagnostics.js').then(({ readDiagnostics }) => {
    const one = { operation: 'Read', elapsedMs: 2, attempts: [{ startedMs: 0, latencyMs: 2, status: 200 }] };
    const text = JSON.stringify(one);
    return [text, '[' + text + ',' + text + ']', text + '\\n' + text, JSON.stringify({ error: { diagnostics: one } }, null, 2), 'WARN slow {' + '} ' + text, 'x [1] y'].map(given => { try { return readDiagnostics(given).length; } catch (error) { return error.message.slice(0, 2); } }).join();
  })`);
  if (shapes !== '1,2,2,1,1,No') fail(`diagnostics in other shapes: ${shapes}`);
  console.log('  diagnostics of a driver are a timeline, beside what was seen of them');
}

module.exports = { containerControls, queryControls, orchestrationControls, regionControls, diagnostics };
