// Regions and faults: what is recorded is played again, by the page and by a shell, and what is shown is what was chosen.
'use strict';
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const nothingBroken = async (tab, when, fail) => {
  const { faults } = await tab.api('GET', 'manage/faults');
  if (faults.length) fail(`${when}, these faults are in force: ${JSON.stringify(faults)}`);
};

async function recorded(tab, base, { fail, binary, management }) {
  await tab.open(`${base}/regions`);
  await tab.says('Nothing is broken');
  await tab.click('New fault');
  await tab.choose('Effect', 'throttle');
  await tab.type('Retry after', '2s');
  await tab.shot('new-fault');
  await tab.click('Add');
  await tab.says('retry after 2s');
  await tab.click('● Record');
  await tab.click('Lift');
  await tab.says('the fault was made before the recording');
  await tab.says('Nothing is broken');
  await tab.click('New fault');
  await tab.click('Add');
  await tab.says('1 fault');
  await tab.click('Lift');
  await tab.says('■ Stop (2)');
  await tab.says('Nothing is broken');
  await tab.click('■ Stop');
  // The ids go on.
  const other = await tab.api('POST', 'manage/faults', { effect: 'status', status: 410 });
  await tab.api('DELETE', `manage/faults/${other.id}`);
  await tab.evaluate('performance.clearResourceTimings()');
  // A line is shown for as long as its change takes, which can be less than the time between two looks.
  await tab.evaluate('window.lines = []; new MutationObserver(() => window.lines.push(...document.querySelector("main").textContent.match(/Line \\d of \\d/) ?? [])).observe(document.querySelector("main"), { childList: true, subtree: true })');
  await tab.click('Play');
  await tab.until('"Line 2 of 2"', 'window.lines.includes("Line 2 of 2")');
  await tab.until('the end of the script', '!document.body.innerText.includes("Line 2 of 2")');
  await nothingBroken(tab, 'after the script was played', fail);
  if (!await tab.asked('manage/faults/')) fail('the script was played without its Lift');

  await tab.click('Script');
  await tab.says('cosmonaut region clear "$fault1"');
  const text = await tab.evaluate('document.querySelector("dialog[open] pre").textContent');
  if (!text.includes(`--management ${management.replace(/\/$/, '')}`)) fail(`these commands do not go to ${management}: ${text}`);
  await tab.click('Close');
  const forced = await tab.evaluate(`import('/page/lib/command.js').then(({ command }) => command('http://127.0.0.1:8080', 'POST', 'partitions/failover', { container: 'd/c', partition: '0', to: 'West US', forced: true }))`);
  if (forced !== "cosmonaut region partition failover d/c 0 'West US' --forced") fail(`a command: ${forced}`);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'explorer-script-'));
  fs.symlinkSync(path.resolve(binary), path.join(folder, 'cosmonaut'));
  const ran = spawnSync('sh', ['-ec', text], { encoding: 'utf8', env: { ...process.env, PATH: `${folder}:${process.env.PATH}` } });
  fs.rmSync(folder, { recursive: true });
  if (ran.status !== 0) fail(`the script for a shell: ${ran.stderr}\n${text}`);
  await nothingBroken(tab, `after a shell ran\n${text}`, fail);
  console.log('  a recorded fault and its Lift are played again, by the page and by a shell, at this emulator');
}

async function partitions(tab, base, { fail }) {
  await tab.open(`${base}/regions?container=mine/things`);
  await tab.says('Nothing is broken');
  // The partitions of one container come late.
  await tab.evaluate(`(() => { const real = window.fetch; window.late = []; window.fetch = async (url, options) => {
    if (!String(url).includes('manage/partitions/shop/orders')) return real(url, options);
    await new Promise(go => window.late.push(go));
    return new Response('{"partitions":[{"id":"of orders","min":"","max":"FF","writer":null,"lsns":[{"region":"East US","lsn":1}]}]}');
  }; })()`);
  await tab.choose('Container', 'shop/orders');
  await tab.until('a question for its partitions', 'window.late.length > 0');
  // Nothing else may ask for them while the others are late: they are counted from before the choice.
  await tab.evaluate('performance.clearResourceTimings()');
  await tab.choose('Container', 'mine/things');
  await tab.until('the partitions of mine/things to be asked for', 'performance.getEntriesByType("resource").some(one => one.name.includes("manage/partitions/mine/things"))');
  await tab.evaluate('window.late.splice(0).forEach(go => go()); new Promise(go => setTimeout(go, 100))');
  if (await tab.evaluate('document.querySelector("main").innerText.includes("of orders")')) fail('the partitions of one container are shown as those of another');
  console.log('  partitions are those of the container that is chosen');
}

async function backlog(tab, base, { fail }) {
  await tab.open(`${base}/regions?container=mine/things`);
  await tab.says('● goes on');
  await tab.click('Pause', 'tr[data-key="East US West US"] button');
  await tab.says('✂ paused');
  for (const id of ['first', 'second']) await tab.api('POST', 'items/mine/things/item', { text: `{"id":"${id}"}` });
  await tab.says('2 behind');
  const { regions } = await tab.api('GET', 'manage/regions');
  if (regions.find(one => one.name === 'West US').behind !== 2) fail(`the management API says ${JSON.stringify(regions)}`);
  await tab.shot('backlog');
  await tab.click('Resume', 'tr[data-key="East US West US"] button');
  await tab.until('the end of the backlog', '!document.body.innerText.includes("2 behind")');
  console.log('  what waits on a paused link is counted');
}

module.exports = { recorded, partitions, backlog };
