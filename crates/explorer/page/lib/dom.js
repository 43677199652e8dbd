// Elements. Everything that comes from the account goes in as text, never as markup.

const ALLOWED = new Set(['class', 'id', 'type', 'value', 'placeholder', 'title', 'href', 'for', 'name', 'min', 'max', 'step',
  'rows', 'cols', 'role', 'tabindex', 'colspan', 'rowspan', 'scope', 'spellcheck', 'autocomplete', 'autocapitalize', 'wrap',
  'multiple', 'accept', 'list', 'width', 'height', 'viewBox', 'd', 'x', 'y', 'x1', 'x2', 'y1', 'y2', 'cx', 'cy', 'r', 'points',
  'preserveAspectRatio', 'text-anchor', 'open', 'download', 'maxlength', 'size', 'label', 'transform', 'rx', 'dx', 'dy', 'inputmode']);
const SVG = new Set(['svg', 'path', 'line', 'rect', 'circle', 'g', 'polyline', 'polygon', 'text', 'tspan', 'desc']);

function make(namespace, tag, props, kids) {
  const element = namespace ? document.createElementNS(namespace, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) listen(element, name.slice(2), value);
    else if (name === 'checked' || name === 'disabled' || name === 'selected' || name === 'readOnly' || name === 'hidden') element[name] = value;
    else if (name === 'style') Object.entries(value).forEach(([part, of]) => element.style.setProperty(part, of));
    else if (name.startsWith('aria-') || name.startsWith('data-') || ALLOWED.has(name)) element.setAttribute(name, value === true ? '' : value);
    else throw new Error(`no attribute ${name}`);
  }
  if (tag === 'textarea' && props?.value !== undefined) element.value = props.value;
  // What scrolls sideways is reached by keyboard.
  if (props?.class === 'wide') element.tabIndex = 0;
  put(element, kids);
  return element;
}

// What is heard of an element can change while the element stays.
const HEARD = new WeakMap();
function listen(element, kind, work) {
  const all = HEARD.get(element) ?? {};
  HEARD.set(element, all);
  if (!(kind in all)) element.addEventListener(kind, event => all[kind]?.(event));
  all[kind] = work;
}

export const h = (tag, props, ...kids) => make(SVG.has(tag) ? 'http://www.w3.org/2000/svg' : null, tag, props, kids);
// An SVG title, whose name HTML has too.
export const svgTitle = text => make('http://www.w3.org/2000/svg', 'title', {}, [text]);

const nodes = kids => kids.flat(9).filter(kid => kid !== null && kid !== undefined && kid !== false)
  .map(kid => (kid instanceof Node ? kid : document.createTextNode(String(kid))));
const put = (element, kids) => element.append(...nodes(kids));

export function fill(element, ...kids) {
  element.replaceChildren();
  put(element, kids);
  return element;
}

// As `fill`, but what is there already stays the element that it is, so that a press, the focus and a scrolled place
// outlive it. Elements are told apart by their kind and `data-key`, buttons by what they say.
export const update = (element, ...kids) => { patchKids(element, nodes(kids)); return element; };

const nameOf = node => `${node.nodeName} ${node.dataset?.key ?? (node.nodeName === 'BUTTON' ? node.textContent : '')}`;
function patchKids(element, fresh) {
  const left = [...element.childNodes];
  const names = left.map(nameOf);
  const chosen = fresh.map(one => {
    const here = left.indexOf(one);
    const n = here < 0 ? names.indexOf(nameOf(one)) : here;
    if (n < 0) return one;
    names.splice(n, 1);
    return left.splice(n, 1)[0];
  });
  left.forEach(node => node.remove());
  let at = element.firstChild;
  chosen.forEach((node, n) => {
    if (node === at) at = at.nextSibling;
    else element.insertBefore(node, at);
    if (node !== fresh[n]) patch(node, fresh[n]);
  });
}
// What somebody has typed or unfolded is left alone.
function patch(old, fresh) {
  if (old.nodeType === Node.TEXT_NODE) { if (old.data !== fresh.data) old.data = fresh.data; return; }
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && name !== 'style' && name !== 'open') old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (name !== 'style' && name !== 'open' && old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (old.style.cssText !== fresh.style.cssText) old.style.cssText = fresh.style.cssText;
  if (old.nodeName === 'INPUT' && old.checked !== fresh.checked) old.checked = fresh.checked;
  const [was, is] = [HEARD.get(old) ?? {}, HEARD.get(fresh) ?? {}];
  Object.keys(was).forEach(kind => { was[kind] = null; });
  Object.entries(is).forEach(([kind, work]) => listen(old, kind, work));
  patchKids(old, [...fresh.childNodes]);
}

// Characters that do something instead of being seen are shown as marks.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const BREAKS = /[\t\n]/g;
export const marked = text => String(text).replace(UNSEEN, c => `\u2039U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}\u203a`);
// In JSON they can be written as escapes, which mean the same.
export const escaped = json => json.replace(UNSEEN, c => (c === '\r' ? c : `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`));
export const oneLine = text => marked(String(text).replace(BREAKS, c => (c === '\n' ? '⏎' : '→')));

export const button = (label, onclick, props) => h('button', { type: 'button', onclick, ...props }, label);
export const link = (label, href, props) => h('a', { href, ...props }, label);

export function field(label, input, hint) {
  return h('label', { class: 'field' }, h('span', {}, label), input, hint ? h('small', {}, hint) : null);
}

let saidTimer = 0;
export function say(text, kind = '') {
  const said = document.getElementById('said');
  fill(said, h('p', { class: kind }, marked(text)));
  clearTimeout(saidTimer);
  saidTimer = setTimeout(() => said.replaceChildren(), 8000);
}

// A dialog; gives what `finish` was called with, or null. `focus` goes back to where it was.
export function dialog(title, build) {
  return new Promise(resolve => {
    const before = document.activeElement;
    const name = h('h2', { id: 'dialog-title' }, title);
    const box = h('dialog', { 'aria-labelledby': 'dialog-title' }, name);
    let result = null;
    const finish = value => { result = value ?? null; box.close(); };
    put(box, [build(finish)]);
    box.addEventListener('close', () => { box.remove(); before?.focus?.(); resolve(result); });
    document.body.append(box);
    box.showModal();
  });
}

export const confirmed = (title, text, action, { danger = true, detail = null } = {}) => dialog(title, finish => [
  h('p', {}, marked(text)), detail,
  h('div', { class: 'row end' }, button('Cancel', () => finish(false)), button(action, () => finish(true), { class: danger ? 'danger' : 'main' })),
]);

export function problem(error, retry) {
  return h('div', { class: 'problem', role: 'alert' }, h('p', {}, marked(error.message ?? String(error))),
    retry ? button('Try again', retry) : null);
}

export const empty = (...text) => h('p', { class: 'empty' }, ...text);
export const chip = (text, kind = '') => h('span', { class: `chip ${kind}` }, text);
export const tabs = (current, list, pick) => h('div', { class: 'tabs', role: 'tablist' }, list.map(([id, label]) =>
  button(label, () => pick(id), { role: 'tab', 'data-key': id, 'aria-selected': String(id === current), tabindex: id === current ? 0 : -1, onkeydown: move })));

function move(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const all = [...event.currentTarget.parentElement.children];
  all[(all.indexOf(event.currentTarget) + step + all.length) % all.length].focus();
}
