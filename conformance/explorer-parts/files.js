// Files of many rows and of long ones: written part by part, whole, and ended where somebody cancels.
'use strict';
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { HOLD } = require('./kept.js');

async function largeFiles(tab, base, { fail, send, LONG }) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'explorer-parts-'));
  await send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: folder });
  const arrived = async name => {
    for (const end = Date.now() + LONG; Date.now() < end;) {
      if (fs.existsSync(path.join(folder, name))) return fs.readFileSync(path.join(folder, name), 'utf8');
      await new Promise(resolve => setTimeout(resolve, 50));
    }
    return fail(`${name} is not there, but ${fs.readdirSync(folder)}`);
  };
  await parts(tab, base, arrived, fail);
  await longRows(tab, base, arrived, fail);
  await cancelled(tab, base, folder, fail);
  fs.rmSync(folder, { recursive: true });
  console.log('  a file is written in parts, has long rows whole, and an import ends where it is cancelled');
}

async function parts(tab, base, arrived, fail) {
  await tab.open(`${base}/data/shop/orders`);
  await tab.says('shown, more follow');
  const same = await tab.evaluate(`import('/page/lib/transfer.js').then(async ({ collector, csv }) => {
    const texts = Array.from({ length: 700 }, (_, n) => JSON.stringify({ id: String(n), ['only' + Math.floor(n / 100)]: 'a, "b"' }));
    const real = URL.createObjectURL;
    let made = null;
    URL.createObjectURL = blob => { made = blob; return real(blob); };
    const file = collector('csv');
    for (let from = 0; from < 700; from += 150) await file.add(texts.slice(from, from + 150));
    await file.save('columns');
    URL.createObjectURL = real;
    return [file.count(), await made.text() === csv(texts)].join();
  })`);
  if (same !== '700,true') fail(`a file in parts is not the one that is made at once: ${same}`);
  // Small pages, and the longest text that becomes a part of the file.
  await tab.evaluate('(() => { const real = window.fetch; window.fetch = (url, options) => real(String(url).replace("max=1000", "max=50"), options); const Blob_ = window.Blob; window.longest = 0; window.Blob = function (parts, ...more) { for (const part of parts) if (typeof part === "string") window.longest = Math.max(window.longest, part.length); return new Blob_(parts, ...more); }; window.Blob.prototype = Blob_.prototype; })()');
  await tab.click('Export');
  await tab.click('JSON lines');
  await tab.says('items exported');
  const text = await arrived('orders.jsonl');
  const longest = await tab.evaluate('window.longest');
  if (!longest || longest > text.length / 4) fail(`a file of ${text.length} characters has a part of ${longest}`);
}

async function longRows(tab, base, arrived, fail) {
  const long = JSON.stringify({ id: 'long', note: 'x'.repeat(200000) });
  await tab.api('POST', 'items/mine/things/item', { text: long });
  await tab.open(`${base}/query/mine/things`);
  await tab.says('Ctrl Enter');
  await tab.type('Query', 'SELECT c.id, c.note FROM c');
  await tab.click('Run');
  await tab.says('1 page');
  const shown = await tab.evaluate('Number(document.querySelector("[role=tab]").innerText.split(" ")[1])');
  await tab.click('JSON lines');
  await tab.says('read again');
  const rows = (await arrived('things-rows.jsonl')).trim().split('\n');
  if (rows.length !== shown || !rows.includes(long)) fail(`${rows.length} rows of ${shown} are exported, the long one ${rows.includes(long) ? '' : 'not'} whole`);
}

async function cancelled(tab, base, folder, fail) {
  const file = path.join(folder, 'many.jsonl');
  fs.writeFileSync(file, Array.from({ length: 500 }, (_, n) => `{"id":"many${n}","customer":"many"}\n`).join(''));
  await tab.open(`${base}/data/mine/copies`);
  await tab.until('its items', 'document.querySelector(".status-line")?.innerText.includes("RU")');
  await tab.evaluate(HOLD('POST', '/import'));
  await tab.click('Import');
  await tab.file([file]);
  await tab.click('Import', 'dialog button');
  await tab.until('an import under way', 'Boolean(window.letGo)');
  await tab.click('Cancel');
  await tab.evaluate('window.letGo()');
  await tab.says('The import is cancelled: 200 items written');
  const found = await tab.api('POST', 'query/mine/copies', { query: 'SELECT VALUE COUNT(1) FROM c WHERE c.customer = "many"' });
  if (found.rows[0].text !== '200') fail(`a cancelled import has written ${found.rows[0].text} items`);
}

module.exports = { largeFiles };
