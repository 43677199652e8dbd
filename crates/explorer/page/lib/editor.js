// The query's text: a plain textarea, with colours behind it, marks under what is wrong, and completion.

import { h, fill } from './dom.js';

const WORDS = new Set(('select value top distinct from in join where group by order asc desc offset limit as between like and or not exists '
  + 'array is null undefined true false udf rank escape').split(' '));
const PIECES = /(--[^\n]*)|("(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)|(@\w*)|(\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)|([A-Za-z_]\w*)/g;

function coloured(text, functions, mark) {
  const parts = [];
  let at = 0;
  const push = (from, to, kind) => {
    // A mark cuts pieces in two.
    for (const [start, end, bad] of cut(from, to, mark)) {
      if (end > start) parts.push(kind || bad ? h('span', { class: `${kind ?? ''}${bad ? ' wrong' : ''}` }, text.slice(start, end)) : text.slice(start, end));
    }
  };
  for (const found of text.matchAll(PIECES)) {
    push(at, found.index, null);
    const [whole, comment, string, parameter, number, word] = found;
    const kind = comment ? 'c-comment' : string ? 'c-string' : parameter ? 'c-parameter' : number ? 'c-number'
      : WORDS.has(word.toLowerCase()) ? 'c-word' : functions.has(word.toUpperCase()) ? 'c-function' : null;
    push(found.index, found.index + whole.length, kind);
    at = found.index + whole.length;
  }
  push(at, text.length, null);
  if (mark && mark.start >= text.length) parts.push(h('span', { class: 'wrong' }, ' '));
  return parts;
}

function cut(from, to, mark) {
  if (!mark) return [[from, to, false]];
  const [start, end] = [Math.min(Math.max(mark.start, from), to), Math.min(Math.max(mark.end, from), to)];
  return [[from, start, false], [start, end, true], [end, to, false]];
}

// members(): names that were seen; names(): what may follow FROM; onChange(text); onRun().
export function editor({ label, value, functions, members, names = () => [], onChange, onRun, onPlan }) {
  const behind = h('pre', { class: 'behind', 'aria-hidden': 'true' });
  const input = h('textarea', {
    class: 'query', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off', 'aria-label': label, rows: 4, value,
    'aria-describedby': 'query-problem', 'aria-autocomplete': 'list',
  });
  const list = h('ul', { class: 'completion', role: 'listbox', hidden: true, id: 'completion' });
  const trouble = h('p', { class: 'query-problem', id: 'query-problem', role: 'status' });
  const box = h('div', { class: 'editor' }, behind, input, list);
  let mark = null;
  let offers = [];
  let at = 0;

  const draw = () => { fill(behind, coloured(input.value, functions(), mark), '\n'); grow(); };
  function grow() {
    input.style.height = 'auto';
    input.style.height = `${Math.min(Math.max(input.scrollHeight + 2, 96), 420)}px`;
    behind.style.height = input.style.height;
  }
  function close() { offers = []; list.hidden = true; input.removeAttribute('aria-controls'); }
  function offer() {
    const before = input.value.slice(0, input.selectionStart);
    const word = /[A-Za-z_@][\w]*$/.exec(before)?.[0] ?? '';
    const isMember = /\.\s*\w*$/.test(before);
    const isFrom = /\bfrom\s+\w*$/i.test(before);
    const stem = isMember ? (/\w*$/.exec(before)?.[0] ?? '') : word;
    if (!isMember && stem.length < (isFrom ? 1 : 2)) return close();
    const from = isMember ? members() : isFrom ? names() : [...functions(), ...[...WORDS].map(found => found.toUpperCase())];
    offers = [...new Set(from)].filter(name => name.toLowerCase().startsWith(stem.toLowerCase()) && name !== stem).sort().slice(0, 8)
      .map(name => ({ name, stem, isCall: functions().has(name) && !isMember }));
    if (!offers.length) return close();
    at = 0;
    return drawOffers();
  }
  function drawOffers() {
    fill(list, offers.map((found, n) => h('li', {
      role: 'option', 'aria-selected': String(n === at), class: n === at ? 'at' : '',
      onmousedown: event => { event.preventDefault(); take(found); },
    }, found.name, found.isCall ? '()' : '')));
    const { left, top } = place();
    list.style.left = `${left}px`;
    list.style.top = `${top}px`;
    list.hidden = false;
    input.setAttribute('aria-controls', 'completion');
  }
  // Where the cursor is: as far as a copy of the text before it reaches.
  function place() {
    const end = h('span', {}, '\u200b');
    const copy = h('pre', { class: 'behind measure', 'aria-hidden': 'true' }, input.value.slice(0, input.selectionStart), end);
    box.append(copy);
    const [inner, outer] = [end.getBoundingClientRect(), box.getBoundingClientRect()];
    copy.remove();
    return { left: Math.min(inner.left - outer.left, Math.max(0, outer.width - 220)), top: inner.bottom - outer.top - input.scrollTop + 2 };
  }
  function take(found) {
    const end = input.selectionStart;
    input.setRangeText(found.name.slice(0) + (found.isCall ? '()' : ''), end - found.stem.length, end, 'end');
    if (found.isCall) input.selectionStart = input.selectionEnd = input.selectionStart - 1;
    close();
    changed();
  }
  function changed() { mark = null; trouble.replaceChildren(); draw(); onChange(input.value); }
  input.addEventListener('input', () => { changed(); offer(); });
  input.addEventListener('scroll', () => { behind.scrollTop = input.scrollTop; behind.scrollLeft = input.scrollLeft; });
  input.addEventListener('blur', close);
  input.addEventListener('keydown', event => {
    if ((event.ctrlKey || event.metaKey) && event.key === 'Enter') {
      event.preventDefault();
      close();
      (event.shiftKey ? onPlan : onRun)();
    } else if ((event.ctrlKey || event.metaKey) && event.key === ' ') { event.preventDefault(); offer(); }
    else if (offers.length && ['ArrowDown', 'ArrowUp'].includes(event.key)) {
      event.preventDefault();
      at = (at + (event.key === 'ArrowDown' ? 1 : -1) + offers.length) % offers.length;
      drawOffers();
    } else if (offers.length && (event.key === 'Enter' || event.key === 'Tab')) { event.preventDefault(); take(offers[at]); }
    else if (offers.length && event.key === 'Escape') { event.preventDefault(); event.stopPropagation(); close(); }
  });
  draw();
  return {
    element: h('div', {}, box, trouble),
    input,
    value: () => input.value,
    set(text) { input.value = text; changed(); },
    // Shows what is wrong, with a caret under its place.
    wrong(problem) {
      mark = problem;
      draw();
      if (!problem) return trouble.replaceChildren();
      const line = input.value.split('\n')[problem.line - 1] ?? '';
      const caret = `${' '.repeat(Math.max(0, problem.column - 1))}^`;
      return fill(trouble, h('span', {}, `line ${problem.line}, column ${problem.column}: ${problem.message}`),
        h('code', {}, `${line}\n${caret}`));
    },
    draw,
  };
}
