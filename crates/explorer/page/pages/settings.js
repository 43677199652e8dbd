// How a container is set up: facts, throughput, and all that the account lets be changed, as JSON.

import { h, fill, link, button, problem, say } from '../lib/dom.js';
import { get, post, put, at } from '../lib/api.js';
import { ru, group } from '../lib/words.js';
import { ofContainer } from '../lib/place.js';
import { drop, throughputField } from './data.js';

export default async function settings({ root, account, params, title, go }) {
  const { database, container } = params;
  title(`Settings of ${container}`);
  const writes = !account.readOnly;
  const place = h('div');
  const path = `containers/${at(database, container)}`;
  fill(root, ofContainer(database, container, 'settings', writes ? [button('Delete container', () => drop(`container ${container}`, container, path, 'Everything in it is gone for good.', () => go('/data')), { class: 'danger' })] : []), place);
  async function load() {
    const found = await get(path);
    const parts = account.isEmulator ? await get(`manage/partitions/${at(database, container)}`).catch(() => null) : null;
    fill(place, h('div', { class: 'two' }, h('div', {}, facts(found), throughput(found), parts ? partitions(parts) : ranges(found)), definition(found)));
  }
  function facts({ properties, partitions: ranges_ }) {
    const row = (name, value) => [h('dt', {}, name), h('dd', {}, value)];
    const items = h('span', {}, button('Count', async () => { try { const found = await post(`query/${at(database, container)}`, { query: 'SELECT VALUE COUNT(1) FROM c' }); fill(items, `${group(found.rows[0].text)} (${ru(found.charge)})`); } catch (error) { say(error.message, 'bad'); } }, { class: 'small' }));
    const ttl = properties.defaultTtl;
    return h('section', { class: 'card' }, h('h2', {}, 'Facts'), h('dl', { class: 'facts' },
      row('Partition key', h('span', { class: 'mono' }, properties.partitionKey.paths.join(', '))),
      row('Partitions', ranges_.length), row('Items', items),
      row('Time to live', ttl === undefined ? 'for ever' : ttl === -1 ? 'as items say' : `${ttl} s`),
      row('Indexing', properties.indexingPolicy?.indexingMode ?? '–'), row('Composite indexes', properties.indexingPolicy?.compositeIndexes?.length ?? 0)));
  }
  function throughput(found) {
    const fields = throughputField();
    fields.set(found.throughput);
    const change = async () => {
      try { await put(`${path}/throughput`, fields.value()); say('The throughput is changed.', 'good'); await load(); } catch (error) { say(error.message, 'bad'); }
    };
    if (!found.throughput) return h('section', { class: 'card' }, h('h2', {}, 'Throughput'), h('p', { class: 'muted' }, found.throughputProblem ? `The account does not say: ${found.throughputProblem}` : 'It shares that of its database, or the account has none to set.'));
    return h('section', { class: 'card' }, h('h2', {}, 'Throughput'), fields.element, writes ? button('Change', () => fields.value() && change()) : null);
  }
  function ranges({ partitions: all }) {
    return h('section', { class: 'card' }, h('h2', {}, 'Partitions'), h('ul', { class: 'mono' }, all.map(range => h('li', {}, `${JSON.stringify(range)}`))));
  }
  function partitions({ partitions: all }) {
    return h('section', { class: 'card' }, h('div', { class: 'row' }, h('h2', {}, 'Partitions'), h('span', { class: 'push' }, link('Break or move them', `/regions?container=${encodeURIComponent(`${database}/${container}`)}`))), h('div', { class: 'wide' }, h('table', {},
      h('thead', {}, h('tr', {}, ['Id', 'Hashed keys', 'Writes', 'LSN'].map(name => h('th', { scope: 'col' }, name)))),
      h('tbody', {}, all.map(one => h('tr', {}, h('td', {}, one.id), h('td', { class: 'mono' }, `${one.min.slice(0, 9) || '0'}…${one.max.slice(0, 9)}`), h('td', {}, one.writer ?? 'every region'), h('td', {}, one.lsns.map(found => `${found.region} ${found.lsn}`).join(', '))))))));
  }
  function definition({ properties, etag }) {
    const shown = Object.fromEntries(Object.entries(properties).filter(([name]) => !name.startsWith('_')));
    const input = h('textarea', { class: 'item', spellcheck: 'false', 'aria-label': 'The definition as JSON', readOnly: !writes, value: JSON.stringify(shown, null, 2) });
    const failed = h('div');
    const save = async () => {
      try { await put(path, { properties: JSON.parse(input.value), etag }); say('The definition is changed.', 'good'); await load(); } catch (error) { fill(failed, problem(error)); }
    };
    return h('section', { class: 'card' }, h('h2', {}, 'Definition'), h('p', { class: 'muted' }, 'Indexing, time to live, unique keys and so on. Name and partition key cannot be changed.'), input, failed,
      writes ? h('div', { class: 'row end' }, button('Save', save, { class: 'main' })) : null);
  }
  try { await load(); } catch (error) { fill(place, problem(error, load)); }
}
