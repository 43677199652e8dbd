// The users of a database and what they may do. Their tokens stay with the explorer's process.

import { h, fill, link, button, field, dialog, confirmed, problem, say, empty, marked, oneLine } from '../lib/dom.js';
import { get, post, remove, at } from '../lib/api.js';

export default async function users({ root, account, params, title, signal }) {
  const { database } = params;
  title(`Users of ${database}`);
  const writes = !account.readOnly;
  const path = `users/${at(database)}`;
  const place = h('div');
  fill(root, h('div', { class: 'head' }, h('div', {}, h('div', { class: 'crumbs' }, link('Data', '/data'), ` / ${marked(database)}`), h('h1', {}, 'Users')), h('div', { class: 'row' }, writes ? button('New user', create, { class: 'main' }) : null)), place);
  async function load() {
    try {
      const found = await get(path, signal);
      fill(place, found.users.length ? found.users.map(card) : empty('The database has no user yet. Users get tokens that open some of its containers and nothing else.'));
    } catch (error) { if (error.name !== 'AbortError') fill(place, problem(error, load)); }
  }
  const gone = async (what, address) => {
    if (!await confirmed(`Delete ${what}`, 'Tokens that were given out for it hold until they expire.', 'Delete')) return;
    try { await remove(address); say(`${what} is deleted.`, 'good'); await load(); } catch (error) { say(error.message, 'bad'); }
  };
  function card(user) {
    return h('section', { class: 'card' }, h('div', { class: 'row' }, h('h2', {}, marked(user.id)), h('span', { class: 'push row' }, writes ? [button('New permission', () => permit(user), { class: 'small' }), button('Delete', () => gone(`user ${user.id}`, `${path}/${at(user.id)}`), { class: 'small danger' })] : null)),
      user.permissions.length ? h('div', { class: 'wide' }, h('table', {}, h('thead', {}, h('tr', {}, ['Permission', 'May', 'Of', 'Key', ''].map(name => h('th', { scope: 'col' }, name)))), h('tbody', {}, user.permissions.map(one => h('tr', {}, h('td', { class: 'break' }, oneLine(one.id)), h('td', {}, one.mode === 'All' ? 'read and write' : one.mode.toLowerCase()), h('td', { class: 'mono break' }, one.resource), h('td', { class: 'mono' }, one.pk ?? 'any'),
        h('td', {}, writes ? button('Delete', () => gone(`permission ${one.id}`, `${path}/${at(user.id, one.id)}`), { class: 'small' }) : null)))))) : h('p', { class: 'muted' }, 'It may do nothing.'));
  }
  async function making(heading, fields, send) {
    const failed = h('div');
    const made = await dialog(heading, finish => [fields, failed, h('div', { class: 'row end' }, button('Cancel', () => finish()), button('Make', async () => { try { finish(await send()); } catch (error) { fill(failed, problem(error)); } }, { class: 'main' }))]);
    if (made) { say(`${made.id} is made.`, 'good'); await load(); }
  }
  async function create() {
    const name = h('input', { autocomplete: 'off', spellcheck: 'false' });
    await making('New user', field('Name', name), () => post(path, { id: name.value }));
  }
  async function permit(user) {
    const { databases } = await get('databases', signal);
    const containers = databases.find(one => one.id === database)?.containers ?? [];
    const [name, mode, container, pk] = [h('input', { autocomplete: 'off', spellcheck: 'false' }), h('select', {}, h('option', { value: 'Read' }, 'read'), h('option', { value: 'All' }, 'read and write')), h('select', {}, containers.map(one => h('option', { value: one.id }, one.id))), h('input', { class: 'mono', placeholder: 'any' })];
    await making(`New permission for ${user.id}`, [field('Name', name), field('May', mode), field('Container', container), field('Partition key, as JSON', pk)], () => post(`${path}/${at(user.id)}`, { id: name.value, mode: mode.value, container: container.value, pk: pk.value.trim() || null }));
  }
  await load();
}
