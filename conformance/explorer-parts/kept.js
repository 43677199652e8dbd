// What a person has typed, chosen or named stays what it is, whatever happens beside it.
'use strict';

// Lets one answer to a change wait until `window.letGo()`.
const HOLD = (method, part) => `(() => { const real = window.fetch; window.fetch = async (url, options) => { const answer = await real(url, options); if (options?.method === ${JSON.stringify(method)} && String(url).includes(${JSON.stringify(part)}) && !window.held) { window.held = true; await new Promise(go => { window.letGo = go; }); } return answer; }; })()`;

async function definition(tab, base, { fail }) {
  await tab.api('POST', 'databases/mine', { properties: { id: 'priced', partitionKey: { paths: ['/id'], kind: 'Hash', version: 2 } }, throughput: { manual: 400 } });
  const address = `${base}/data/mine/priced/settings`;
  const field = 'document.querySelector("textarea").value';
  await tab.open(address);
  await tab.says('Definition');
  const typed = JSON.stringify({ ...JSON.parse(await tab.evaluate(field)), defaultTtl: 60 }, null, 1);
  await tab.type('The definition as JSON', typed);
  await tab.type('Request units per second', '500');
  await tab.click('Change');
  await tab.says('The throughput is changed');
  if (await tab.evaluate(field) !== typed) fail('a change of the throughput throws away what is typed in the definition');
  await tab.open(address);
  await tab.says('This is what you had not saved');
  if (await tab.evaluate(field) !== typed) fail('a reload throws away what is typed in the definition');
  // Somebody else is faster.
  const { properties } = await tab.api('GET', 'containers/mine/priced');
  await tab.api('PUT', 'containers/mine/priced', { properties: { ...properties, defaultTtl: 30 } });
  await tab.click('Save');
  await tab.says('Somebody has changed this definition');
  await tab.click('Undo changes');
  await tab.until('the definition of somebody else', `${field}.includes('"defaultTtl": 30')`);
  await tab.type('The definition as JSON', typed);
  await tab.click('Save');
  await tab.says('The definition is changed');
  await tab.says('60 s');
  console.log('  what is typed in a definition outlives a change of the throughput and a reload, and overwrites nobody');
}

async function newItems(tab, base, { fail }) {
  const typed = '{"id":"unmade","n":1.50}';
  const field = 'document.querySelector("dialog[open] textarea").value';
  await tab.open(`${base}/data/mine/things`);
  await tab.says('of them');
  await tab.click('New item');
  await tab.type('The item as JSON', typed);
  await tab.key('Escape');
  await tab.until('no dialog', '!document.querySelector("dialog")');
  await tab.click('New item');
  await tab.says('This is what you had not made');
  if (await tab.evaluate(field) !== typed) fail('Esc throws away a new item');
  await tab.open(`${base}/data/mine/things`);
  await tab.says('of them');
  await tab.click('New item');
  await tab.says('This is what you had not made');
  if (await tab.evaluate(field) !== typed) fail('a reload throws away a new item');
  await tab.click('Make');
  await tab.says('Item unmade is made');
  await tab.click('New item');
  await tab.until('a new item', `Boolean(${field})`);
  if (await tab.evaluate(field) === typed) fail('an item that is made is offered again');
  await tab.click('Cancel');
  console.log('  a new item outlives Esc and a reload');
}

async function scripts(tab, base, { fail }) {
  await tab.api('POST', 'scripts/mine/things/functions', { id: 'twice', body: 'function twice(n) { return n; }' });
  await tab.open(`${base}/data/mine/things/scripts`);
  await tab.click('twice');
  await tab.evaluate(HOLD('PUT', 'scripts'));
  await tab.type('Text of twice', 'function twice(n) { return 2 * n; }');
  await tab.click('Save');
  await tab.until('a save under way', 'Boolean(window.letGo)');
  const typed = 'function twice(n) { return 2 * Number(n); }';
  await tab.type('Text of twice', typed);
  await tab.evaluate('window.letGo()');
  await tab.says('What you have typed meanwhile is not');
  if (await tab.evaluate('document.querySelector("textarea").value') !== typed) fail('what is typed while a script is saved is gone');
  await tab.click('Save');
  await tab.until('the script as it was typed last', `fetch('/api/scripts/mine/things', { headers: { 'x-cosmonaut-key': localStorage.getItem('cosmonaut-key') } }).then(found => found.json()).then(found => found.functions[0].body === ${JSON.stringify(typed)})`);
  console.log('  what is typed while a script is saved stays');
}

// A member that looks like one of the service's, and names that an address would swallow.
async function names(tab, base, { fail }) {
  await tab.api('POST', 'items/mine/things/item', { text: '{"id":"mark","_lsn":7}' });
  await tab.open(`${base}/data/mine/things/item?id=mark&pk=%5B%22mark%22%5D`);
  await tab.says('etag');
  await tab.type('Item mark as JSON', '{ "id": "mark", "_lsn": 7, "n": 1 }');
  await tab.key('s', 2);
  await tab.says('Saved.');
  const { text } = await tab.api('GET', 'items/mine/things/item?id=mark&pk=%5B%22mark%22%5D');
  if (!text.includes('"_lsn":7') || !text.includes('"n":1')) fail(`a save drops a member of the item's owner: ${text}`);

  const address = await tab.evaluate('import("/page/lib/api.js").then(({ at, nameOf }) => { const all = [".", "..", "~a", "a b/c", "a.b"]; return [at(...all), at(...all).split("/").map(nameOf).join("|")]; })');
  if (address.join(' ') !== '~./~../~~a/a%20b%2Fc/a.b .|..|~a|a b/c|a.b') fail(`names in addresses: ${address}`);
  await tab.api('POST', 'users/mine', { id: 'eve' });
  await tab.api('POST', 'users/mine/eve', { id: '.', mode: 'All', container: 'things', pk: null });
  await tab.open(`${base}/users/mine`);
  await tab.says('dbs/mine/colls/things');
  await tab.click('Delete', 'td button');
  await tab.says('Delete permission .');
  await tab.click('Delete', 'dialog button');
  await tab.says('permission . is deleted');
  await tab.says('It may do nothing');
  const { users } = await tab.api('GET', 'users/mine');
  if (users.length !== 1 || users[0].id !== 'eve') fail(`deleting the permission "." has left ${JSON.stringify(users)}`);
  console.log('  a member named _lsn stays, and a permission named by a dot is deleted alone');
}

// A request that fails once changes nothing of what is shown.
async function away(tab, base, { fail }) {
  await tab.open(`${base}/data/shop/orders`);
  await tab.says('shown, more follow');
  await tab.evaluate('document.querySelector(".grid-rows input").click()');
  await tab.says('1 item selected');
  await tab.evaluate('document.querySelector(".grid").scrollTop = 560; window.before = document.querySelector(".grid")');
  // It stays away until that is seen: the page asks by itself, too.
  await tab.evaluate('(() => { window.real = window.fetch; window.fetch = () => Promise.reject(new TypeError("away")); return import("/page/lib/api.js").then(({ get }) => get("functions").catch(() => {})); })()');
  await tab.says('The explorer does not answer');
  await tab.evaluate('window.fetch = window.real; import("/page/lib/api.js").then(({ get }) => get("functions")).then(() => true)');
  await tab.says('The explorer answers again');
  await tab.until('a bar that is gone', '!document.body.classList.contains("away")');
  await tab.evaluate('new Promise(go => setTimeout(go, 300))');
  if (!await tab.evaluate('window.before === document.querySelector(".grid") && window.before.scrollTop === 560 && document.body.innerText.includes("1 item selected")')) fail('a request that fails once throws away the page, its rows and what is selected');
  console.log('  a request that fails once leaves the page as it is');
}

// Where one was is in the address, and what one has asked is in the history.
async function places(tab, base, { fail }) {
  await tab.open(`${base}/data/shop/orders?sort=total&down=1`);
  await tab.until('the order of the address', '[...document.querySelectorAll("[role=columnheader]")].some(one => one.innerText.startsWith("total") && one.getAttribute("aria-sort") === "descending")');
  await tab.click('total', '[role=columnheader] button');
  await tab.until('an address without an order', '!location.search.includes("sort")');
  await tab.open(`${base}/query/shop/orders`);
  await tab.says('Ctrl Enter');
  await tab.type('Query', 'SELECT * FROM thi');
  await tab.until('the name of another container', 'document.querySelector(".completion").innerText.includes("things")');
  await tab.key('Escape');
  await tab.type('Query', 'SELECT c.id FROM c WHERE c.total > @least');
  await tab.type('@least', '86.75');
  await tab.click('Run');
  await tab.says('3 rows');
  await tab.open(`${base}/query/mine/things`);
  await tab.click('History');
  await tab.says('@least = 86.75');
  await tab.click('Take');
  await tab.until('the query in its container', 'location.pathname === "/query/shop/orders" && document.querySelector("textarea")?.value.includes("@least")');
  await tab.click('Run');
  await tab.says('3 rows');
  await tab.api('POST', 'databases', { id: 'wide', throughput: { manual: 500 } });
  await tab.open(`${base}/data`);
  await tab.until('its card', '[...document.querySelectorAll("section")].some(one => one.innerText.startsWith("wide"))');
  await tab.evaluate('[...[...document.querySelectorAll("section")].find(one => one.innerText.startsWith("wide")).querySelectorAll("button")].find(one => one.innerText === "Throughput").click()');
  await tab.type('Request units per second', '600');
  await tab.shot('database-throughput');
  await tab.click('Change');
  await tab.says('The throughput is changed');
  const { throughput } = await tab.api('GET', 'databases/wide/throughput');
  if (throughput.manual !== 600) fail(`the throughput of a database: ${JSON.stringify(throughput)}`);
  console.log('  an order is in the address, the history has parameters and containers, a database has its throughput');
}

module.exports = { HOLD, definition, newItems, scripts, names, away, places };
