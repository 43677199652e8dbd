// The scripts of a container: stored procedures, which can be run, triggers and user-defined functions.

import { h, fill, link, button, field, dialog, confirmed, problem, say, empty, marked, oneLine } from '../lib/dom.js';
import { get, post, ask, at } from '../lib/api.js';
import { tidy } from '../lib/json.js';
import { ru, ms } from '../lib/words.js';
import { kept, keepDraft, forget } from '../lib/kept.js';
import { ofContainer } from '../lib/place.js';

const KINDS = [['procedures', 'Stored procedure'], ['triggers', 'Trigger'], ['functions', 'User-defined function']];
const WHEN = ['Pre', 'Post'];
const ON = ['All', 'Create', 'Replace', 'Upsert', 'Delete'];
const START = {
  procedures: 'function run(name) {\n  const response = getContext().getResponse();\n  response.setBody("Hello, " + name);\n}\n',
  triggers: 'function run() {\n  const request = getContext().getRequest();\n  const item = request.getBody();\n  request.setBody(item);\n}\n',
  functions: 'function run(value) {\n  return value;\n}\n',
};

export default async function scripts({ root, account, params, search, keep, title, signal }) {
  const { database, container } = params;
  title(`Scripts of ${container}`);
  const writes = !account.readOnly;
  const path = `scripts/${at(database, container)}`;
  const state = { found: null, kind: search.get('kind'), id: search.get('id') };
  const [list, place, trouble] = [h('div'), h('div'), h('div')];
  fill(root, ofContainer(database, container, 'scripts', writes ? [button('New script', create, { class: 'main' })] : []), trouble, h('div', { class: 'two' }, list, place));

  const chosen = () => state.found[state.kind]?.find(one => one.id === state.id);
  async function load() {
    state.found = await get(path, signal);
    drawList();
    drawOne();
  }
  function drawList() {
    fill(list, KINDS.map(([kind, name]) => h('section', { class: 'card' }, h('h2', {}, `${name}s`), state.found[kind].length ? h('ul', { class: 'nest root' }, state.found[kind].map(one =>
      h('li', {}, button(oneLine(one.id), () => show(kind, one.id), { class: 'plain', 'aria-current': kind === state.kind && one.id === state.id ? 'true' : null }), one.triggerType ? h('span', { class: 'muted' }, ` ${one.triggerType}, ${one.triggerOperation}`) : null))) : h('p', { class: 'muted' }, 'none'))));
  }
  function show(kind, id) {
    Object.assign(state, { kind, id });
    keep({ kind, id });
    drawList();
    drawOne();
  }
  function drawOne() {
    const one = chosen();
    if (!one) { fill(place, empty(KINDS.every(([kind]) => !state.found[kind].length) ? 'There is no script yet.' : 'Choose a script.')); return; }
    const { kind } = state;
    const name = `script ${JSON.stringify([database, container, kind, one.id])}`;
    const draft = kept(name);
    // What is in the field began with the text of this etag.
    let etag = draft?.etag ?? one.etag;
    const note = h('div');
    const body = h('textarea', { class: 'item short', spellcheck: 'false', 'aria-label': `Text of ${one.id}`, readOnly: !writes, value: draft?.body ?? one.body, oninput: () => keepDraft(name, { body: body.value, etag }) });
    const failed = h('div');
    const save = async () => {
      const sent = body.value;
      try {
        const saved = await ask('PUT', `${path}/${kind}`, { id: one.id, body: sent, etag, ...(one.triggerType ? { triggerType: one.triggerType, triggerOperation: one.triggerOperation } : {}) });
        etag = saved.etag;
        Object.assign(one, { body: sent, etag });
        // What was typed since stays in the field, as a change of what is saved.
        const isSent = body.value === sent;
        if (isSent) forget(name); else keepDraft(name, { body: body.value, etag });
        fill(failed);
        fill(note);
        say(isSent ? 'Saved.' : 'Saved. What you have typed meanwhile is not.', 'good');
      } catch (error) { fill(failed, problem(error.status === 412 ? new Error('Somebody has changed this script since you read it. Copy your text, and read it again.') : error)); }
    };
    const remove = async () => {
      if (!await confirmed(`Delete ${one.id}`, 'The script is gone for good.', 'Delete')) return;
      try { await ask('DELETE', `${path}/${at(kind, one.id)}`); forget(name); say(`${one.id} is deleted.`, 'good'); await load(); } catch (error) { fill(failed, problem(error)); }
    };
    const again = () => { forget(name); load(); };
    if (draft) fill(note, h('p', { class: 'note' }, 'This is what you had not saved. ', button('Read it again', again, { class: 'small' })));
    fill(place, h('section', { class: 'card' }, h('h2', {}, marked(one.id)), note, body, failed,
      writes ? h('div', { class: 'row end' }, button('Delete', remove, { class: 'danger' }), button('Save', save, { class: 'main' })) : null), kind === 'procedures' && writes ? runner(one.id) : null);
  }
  function runner(id) {
    const [pk, given, result] = [h('input', { class: 'mono', value: '""' }), h('input', { class: 'mono', value: '[]' }), h('div')];
    const run = async () => {
      fill(result, h('p', { class: 'muted' }, 'Running…'));
      try {
        const done = await post(`${path}/${at('procedures', id)}/run`, { pk: pk.value, arguments: given.value }, signal);
        fill(result, h('p', { class: 'status-line', role: 'status' }, `${ru(done.charge)} · ${ms(done.ms)}`), h('pre', { class: 'item-text', tabindex: 0, 'aria-label': 'The answer' }, marked(tidy(done.text))), done.log ? log(done.log) : null);
      } catch (error) { if (error.name !== 'AbortError') fill(result, problem(error), error.details?.log ? log(error.details.log) : null); }
    };
    return h('section', { class: 'card' }, h('h2', {}, 'Run'), field('Partition key, as JSON', pk), field('Arguments, a JSON array', given), h('div', { class: 'row end' }, button('Run', run, { class: 'main' })), result);
  }
  const log = text => [h('p', { class: 'muted' }, 'Log'), h('pre', { class: 'item-text', tabindex: 0, 'aria-label': 'The log' }, marked(text))];
  async function create() {
    const [kind, id] = [h('select', {}, KINDS.map(([value, name]) => h('option', { value }, name))), h('input', { autocomplete: 'off', spellcheck: 'false' })];
    const [when, on] = [h('select', {}, WHEN.map(value => h('option', { value }, value))), h('select', {}, ON.map(value => h('option', { value }, value)))];
    const of = h('div', { class: 'row', hidden: true }, field('When', when), field('On', on));
    kind.addEventListener('change', () => { of.hidden = kind.value !== 'triggers'; });
    const failed = h('div');
    const made = await dialog('New script', finish => [field('Kind', kind), field('Name', id), of, failed, h('div', { class: 'row end' }, button('Cancel', () => finish()), button('Make', async () => {
      const more = kind.value === 'triggers' ? { triggerType: when.value, triggerOperation: on.value } : {};
      try { finish(await post(`${path}/${kind.value}`, { id: id.value, body: START[kind.value], ...more })); } catch (error) { fill(failed, problem(error)); }
    }, { class: 'main' }))]);
    if (!made) return;
    say(`${made.id} is made.`, 'good');
    Object.assign(state, { kind: kind.value, id: made.id });
    keep({ kind: state.kind, id: state.id });
    await load();
  }
  try { await load(); } catch (error) { if (error.name !== 'AbortError') fill(trouble, problem(error, load)); }
}
