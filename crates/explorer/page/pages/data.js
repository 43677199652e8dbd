// Databases and containers: all there are, new ones, and deleting them.

import { h, fill, link, button, field, dialog, problem, empty, say, marked } from '../lib/dom.js';
import { get, post, put, remove, at } from '../lib/api.js';

export default async function data({ root, account, title, go }) {
  title('Data');
  const filter = h('input', { placeholder: 'Filter', 'aria-label': 'Filter by name', type: 'search' });
  const list = h('div');
  const writes = !account.readOnly;
  fill(root, h('div', { class: 'head' }, h('h1', {}, 'Data'), h('div', { class: 'row' }, filter, writes ? button('New database', () => newDatabase(show), { class: 'main' }) : null)), list);
  let databases = [];
  const draw = () => {
    const wanted = filter.value.toLowerCase();
    const kept = databases.map(one => ({ ...one, containers: one.containers.filter(container => `${one.id}/${container.id}`.toLowerCase().includes(wanted)) }))
      .filter(one => one.containers.length || one.id.toLowerCase().includes(wanted));
    fill(list, kept.length ? kept.map(one => card(one, account, show, go)) : empty(databases.length ? 'Nothing has this in its name.' : 'The account has no database yet.'));
  };
  async function show() {
    try { ({ databases } = await get('databases')); draw(); } catch (error) { fill(list, problem(error, show)); }
  }
  filter.addEventListener('input', draw);
  await show();
}

function card(database, account, show, go) {
  const writes = !account.readOnly;
  return h('section', { class: 'card' },
    h('div', { class: 'row' }, h('h2', {}, marked(database.id)), h('span', { class: 'push' }, link('Users', `/users/${at(database.id)}`)), writes ? button('New container', () => newContainer(database.id, show, go), { class: 'small' }) : null,
      button('Throughput', () => throughputOf(database.id, writes), { class: 'small' }),
      writes ? button('Delete', () => drop(`database ${database.id}`, database.id, at('databases', database.id), `It has ${database.containers.length} containers. Everything in them is gone for good.`, show), { class: 'small danger' }) : null),
    database.containers.length ? h('div', { class: 'wide' }, h('table', {}, h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Container'), h('th', { scope: 'col' }, 'Partition key'), h('th', { scope: 'col' }, h('span', { class: 'muted' }, '')))),
      h('tbody', {}, database.containers.map(one => h('tr', {},
        h('td', { class: 'break' }, link(marked(one.id), `/data/${at(database.id, one.id)}`)), h('td', { class: 'mono break' }, one.paths.join(', ')),
        h('td', {}, h('div', { class: 'row end' }, link('Query', `/query/${at(database.id, one.id)}`), link('Settings', `/data/${at(database.id, one.id)}/settings`)))))))) : empty('No container yet.'));
}

async function throughputOf(database, writes) {
  const path = at('databases', database, 'throughput');
  let found;
  try { found = await get(path); } catch (error) { say(`The account does not say: ${error.message}`, 'bad'); return; }
  const [fields, failed] = [throughputField(), h('div')];
  fields.set(found.throughput);
  const change = async finish => {
    try { await put(path, fields.value()); say('The throughput is changed.', 'good'); finish(); } catch (error) { fill(failed, problem(error)); }
  };
  await dialog(`Throughput of ${database}`, finish => [
    found.throughput ? [h('p', {}, 'Its containers share it, except those that have some of their own.'), fields.element] : h('p', {}, 'It has none of its own: each of its containers has some, or the account has none to set.'), failed,
    h('div', { class: 'row end' }, button('Close', () => finish()), found.throughput && writes ? button('Change', () => fields.value() && change(finish), { class: 'main' }) : null)]);
}

// The name has to be typed: nothing brings it back.
export async function drop(what, name, path, consequence, done) {
  const typed = h('input', { 'aria-label': 'The name', autocomplete: 'off', spellcheck: 'false' });
  const yes = await dialog(`Delete ${what}`, finish => [
    h('p', {}, consequence), field(`Type ${name} to delete it`, typed),
    h('div', { class: 'row end' }, button('Cancel', () => finish(false)), button('Delete', () => (typed.value === name ? finish(true) : typed.focus()), { class: 'danger' })),
  ]);
  if (!yes) return;
  try { await remove(path); say(`${what} is deleted.`, 'good'); await done(); } catch (error) { say(error.message, 'bad'); }
}

export function throughputField() {
  const kind = h('select', { 'aria-label': 'Throughput' }, h('option', { value: '' }, 'what the account gives'), h('option', { value: 'manual' }, 'manual'), h('option', { value: 'autoscale' }, 'autoscale, at most'));
  const units = h('input', { type: 'number', min: 100, step: 100, value: 400, 'aria-label': 'Request units per second', hidden: true });
  kind.addEventListener('change', () => { units.hidden = !kind.value; if (kind.value === 'autoscale' && Number(units.value) < 1000) units.value = 1000; });
  return {
    element: h('div', { class: 'field' }, h('span', {}, 'Throughput, RU/s'), h('div', { class: 'row' }, kind, units)),
    value: () => (kind.value ? { [kind.value]: Number(units.value) } : undefined),
    set(now) { const [name] = Object.keys(now ?? {}); kind.value = name ?? ''; units.hidden = !name; if (name) units.value = now[name]; },
  };
}

async function making(title, build, send) {
  return dialog(title, finish => {
    const failed = h('div');
    const make = async () => {
      try { finish(await send() ?? true); } catch (error) { fill(failed, problem(error)); }
    };
    return [build(make), failed, h('div', { class: 'row end' }, button('Cancel', () => finish()), button('Make', make, { class: 'main' }))];
  });
}
const onEnter = make => event => { if (event.key === 'Enter') { event.preventDefault(); make(); } };

async function newDatabase(show) {
  const name = h('input', { autocomplete: 'off', spellcheck: 'false' });
  const throughput = throughputField();
  const made = await making('New database', make => { name.addEventListener('keydown', onEnter(make)); return [field('Name', name), throughput.element]; },
    () => post('databases', { id: name.value, throughput: throughput.value() }));
  if (made) { say(`Database ${made.id} is made.`, 'good'); await show(); }
}

async function newContainer(database, show, go) {
  const name = h('input', { autocomplete: 'off', spellcheck: 'false' });
  const key = h('input', { value: '/id', autocomplete: 'off', spellcheck: 'false' });
  const ttl = h('input', { type: 'number', min: -1, placeholder: 'for ever' });
  const throughput = throughputField();
  const made = await making(`New container in ${database}`, make => {
    name.addEventListener('keydown', onEnter(make));
    return [field('Name', name), field('Partition key', key, 'A path such as /customer; for a hierarchical key, up to three with commas between them'), field('Time to live, seconds', ttl, '-1: items say so themselves'), throughput.element];
  }, () => {
    const paths = key.value.split(',').map(path => path.trim()).filter(Boolean);
    const properties = { id: name.value, partitionKey: { paths, kind: paths.length > 1 ? 'MultiHash' : 'Hash', version: 2 } };
    if (ttl.value) properties.defaultTtl = Number(ttl.value);
    return post(at('databases', database), { properties, throughput: throughput.value() });
  });
  if (made) { say(`Container ${made.id} is made.`, 'good'); await show(); }
}
