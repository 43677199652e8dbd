// The faults of the demo, over three regions and under load: what the page shows of regions, requests and faults is what
// the management API says.
'use strict';
const { spawn } = require('node:child_process');

const LOAD = 'demo/shop';
const WORDS = { up: '● up', slow: '◐ slow', refuse: '✖ refuses', hang: '✖ hangs', unavailable: '✖ 503' };
const wait = time => new Promise(resolve => setTimeout(resolve, time));

// What the page shows, as numbers and words.
const SHOWN = `(() => {
  const number = text => Number((text.match(/[\\d\\u202f]+/)?.[0] ?? 'NaN').replaceAll('\\u202f', ''));
  const facts = place => Object.fromEntries([...place.querySelectorAll('dt')].map(dt => [dt.innerText, dt.nextElementSibling.innerText]));
  const regions = [...document.querySelectorAll('.place')].map(place => { const of = facts(place); return { name: place.getAttribute('aria-label'), state: place.querySelector('.push').innerText, takesWrites: of.Role.startsWith('takes writes'), requests: number(of.Requests), behind: of.Behind === 'nothing' ? 0 : number(of.Behind) }; });
  const card = [...document.querySelectorAll('section')].find(one => one.querySelector('h2')?.innerText === 'Faults in force');
  const faults = [...card.querySelectorAll('tbody tr')].map(row => { const cells = [...row.cells].map(cell => cell.innerText); return { id: Number(cells[0]), effect: cells[1].split(' ')[0], where: cells[2], hits: Number(cells[3]) }; });
  const links = [...document.querySelectorAll('tr[data-key]')].filter(row => row.innerText.includes(' to ')).map(row => ({ link: row.dataset.key, paused: row.innerText.includes('✂') }));
  return { regions, faults, links };
})()`;

async function demoFaults(tab, base, account, { binary, children, fail }) {
  const management = account.management;
  const send = async (method, path, body) => {
    const answer = await fetch(new URL(path, management), { method, headers: { 'content-type': 'application/json' }, body: body && JSON.stringify(body) });
    const read = await answer.json();
    if (!answer.ok) fail(`${method} ${path}: ${JSON.stringify(read)}`);
    return read;
  };
  const said = async () => {
    const [regions, faults, links] = [await send('GET', '/regions'), await send('GET', '/faults'), await send('GET', '/links')];
    return {
      regions: regions.regions.map(one => ({ name: one.name, state: WORDS[one.state] ?? one.state, takesWrites: one.takesWrites, requests: one.requests, behind: one.behind })),
      faults: faults.faults.map(one => ({ id: one.id, effect: one.effect, where: one.region ?? 'every region', hits: one.hits })),
      links: links.links.map(one => ({ link: `${one.from} ${one.to}`, paused: one.paused })),
    };
  };
  const load = prefer => {
    const child = spawn(binary, ['bench', LOAD, '--endpoint', account.endpoint, '--mix', 'read=70,write=30', '--rate', '40', '--seconds', '600', '--warm-up', '0', '--items', '50', '--keep', '--json', '--prefer', prefer], { stdio: ['ignore', 'ignore', 'ignore'], env: { ...process.env, COSMONAUT_KEY: account.key } });
    children.push(child);
    return child;
  };
  const end = child => new Promise(resolve => { if (child.exitCode !== null) { resolve(); return; } child.once('exit', resolve); child.kill('SIGKILL'); });

  // Counts grow while one looks: what is shown lies between what was said before and what is said after.
  // Of three answers the first may have been under way before, and the last may not be drawn yet.
  const compare = async step => {
    let different = '';
    for (const until = Date.now() + 30000; Date.now() < until;) {
      const before = await said();
      await tab.askedAgain('/api/manage/links', 3);
      const page = await tab.evaluate(SHOWN);
      const after = await said();
      different = differences(before, page, after).join('; ');
      if (!different) return page;
      await wait(200);
    }
    await tab.shot('faults-failed');
    return fail(`${step}: the page and the management API differ: ${different}`);
  };
  // At rest they are equal to the last one.
  const equal = async step => {
    let [page, now] = [null, null];
    for (const until = Date.now() + 30000; Date.now() < until;) {
      now = JSON.stringify(await said());
      await tab.askedAgain('/api/manage/links', 3);
      page = await tab.evaluate(SHOWN);
      page.faults.forEach(one => { one.where = one.where.split(',')[0]; });
      if (JSON.stringify(page) === now) return page;
      await wait(200);
    }
    return fail(`${step}: the page shows ${JSON.stringify(page)}, the management API says ${now}`);
  };

  await tab.open(`${base}/regions`);
  await tab.says('Faults in force');
  // More requests are counted than the browser notes by itself.
  await tab.evaluate('performance.setResourceTimingBufferSize(1000000)');
  const loads = [load('East US'), load('West US')];
  await tab.until('the load', `(async () => (await (await fetch('/api/manage/regions', { headers: { 'x-cosmonaut-key': localStorage.getItem('cosmonaut-key') } })).json()).regions[1].requests > 200)()`);

  const steps = [
    ['region-down', [['POST', '/regions/West%20US/down', { mode: 'refuse' }]], [['POST', '/regions/West%20US/up']]],
    ['region-slow', [['POST', '/regions/West%20US/slow', { delay: 'p50=30ms,p99=300ms' }]], [['POST', '/regions/West%20US/up']]],
    ['partition-down', [['POST', '/faults', { effect: 'status', status: 503, region: 'West US', container: LOAD, partition: '0' }]], [['DELETE', '/faults']]],
    ['write-failover', [['POST', '/failover', { to: 'West US', forced: false }], ['POST', '/regions/East%20US/down', { mode: 'hang' }]], [['POST', '/regions/East%20US/up'], ['POST', '/failover', { to: 'East US', forced: false }]]],
    ['throttling', [['POST', '/faults', { effect: 'throttle', container: LOAD, probability: 0.2, retryAfter: '20ms' }]], [['DELETE', '/faults']]],
    ['split', [['POST', '/partitions/split', { container: LOAD, partition: '0' }]], []],
  ];
  for (const [name, begin, mend] of steps) {
    for (const change of begin) await send(...change);
    await compare(name);
    await tab.shot(`faults-${name}`);
    for (const change of mend) await send(...change);
    await compare(`${name}, mended`);
  }
  // Something is broken while the load ends, so that there is something to count at rest.
  await send('PUT', '/links', { from: 'East US', to: 'North Europe', paused: true });
  const { id } = await send('POST', '/faults', { effect: 'status', status: 503, container: LOAD, operations: 'read', count: 25 });
  await tab.until('25 hits', `[...document.querySelectorAll('tr[data-key="${id}"] td')].some(cell => cell.innerText === '25')`);
  await Promise.all(loads.map(end));
  const rest = await equal('at rest');
  if (!(rest.regions[2].behind > 0)) fail(`nothing is behind a paused link: ${JSON.stringify(rest.regions)}`);
  await tab.shot('faults-at-rest');

  // What a fault struck is in the log, one by one, with why.
  await tab.go(`/requests?fault=${id}`);
  await tab.says('25 requests shown');
  await tab.click(`#${id} status`, '.grid-rows [role=row] [role=gridcell]');
  await tab.says(`Fault ${id} answered in its place`);
  await tab.says('x-ms-activity-id');
  await tab.says('(not shown)');
  await tab.says('Of the same operation');
  if (await tab.evaluate('/type%3Dmaster|sig%3D|sig=/.test(document.querySelector("dialog").innerText)')) fail('a signature is shown');
  await tab.shot('request-struck');
  const one = await tab.evaluate('location.pathname + location.search');
  if (!/^\/requests\/\d+\?/.test(one)) fail(`a request has no address of its own, but ${one}`);
  await tab.open(base + one);
  await tab.says(`Fault ${id} answered in its place`);
  await tab.click('Close');
  await tab.until('the list', 'location.pathname === "/requests" && document.querySelector(".grid-rows [role=row]") !== null');
  const last = await tab.evaluate('Math.max(...[...document.querySelectorAll(".grid-rows [role=row]")].map(row => Number(row.dataset.key)))');
  await tab.open(`${base}/requests/${last + 100000}`);
  await tab.says('there was no request');
  await tab.click('Close');
  await send('DELETE', '/faults');
  console.log(`  under the faults of the demo the page shows what the management API says: ${rest.regions.map(one => `${one.name} ${one.requests} requests`).join(', ')}; the 25 requests of a fault are in the log, with why`);
}

function differences(before, page, after) {
  const found = [];
  const differs = (what, is, ...wants) => { if (!wants.includes(is)) found.push(`${what} is ${is}, not ${wants.join(' or ')}`); };
  const between = (what, low, is, high) => { if (!(is >= low && is <= high)) found.push(`${what} is ${is}, not between ${low} and ${high}`); };
  differs('the number of regions', page.regions.length, after.regions.length);
  page.regions.forEach((region, n) => {
    const [was, is] = [before.regions[n], after.regions[n]];
    for (const name of ['name', 'state', 'takesWrites']) differs(`${is.name}: ${name}`, region[name], was[name], is[name]);
    between(`${is.name}: requests`, was.requests, region.requests, is.requests);
  });
  differs('the number of faults', page.faults.length, after.faults.length);
  page.faults.forEach((fault, n) => {
    const [was, is] = [before.faults[n], after.faults[n]];
    if (!was || !is) { found.push('a fault has come or gone'); return; }
    for (const name of ['id', 'effect']) differs(`fault ${is.id}: ${name}`, fault[name], is[name]);
    if (!fault.where.startsWith(is.where)) found.push(`fault ${is.id} is in ${fault.where}, not ${is.where}`);
    between(`fault ${is.id}: hits`, was.hits, fault.hits, is.hits);
  });
  differs('links', JSON.stringify(page.links), JSON.stringify(after.links));
  return found;
}

module.exports = { demoFaults };
