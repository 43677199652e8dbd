// JSON as text: where its parts are, never what its numbers are worth. 1.50 stays 1.50, and any digits stay.

const DEEPEST = 400;

export class JsonProblem extends Error {
  constructor(message, place) { super(message); this.place = place; }
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const BLANK = /[ \t\r\n]*/y;

export function parse(text) {
  const [node, rest] = first(text, 0);
  if (rest < text.length) throw new JsonProblem('there is something behind the end', rest);
  return node;
}

// All that follow one another, with or without something blank between them: JSON lines, or a text for people.
export function parseAll(text) {
  const found = [];
  for (let at = 0; at < text.length;) {
    const [node, rest] = first(text, at);
    found.push(node);
    at = rest;
  }
  return found;
}

// The first value, and where the next one begins.
function first(text, start) {
  let at = start;
  const blank = () => { BLANK.lastIndex = at; BLANK.test(text); at = BLANK.lastIndex; };
  const fail = message => { throw new JsonProblem(message, at); };
  const take = pattern => {
    pattern.lastIndex = at;
    if (!pattern.test(text)) return null;
    const found = text.slice(at, pattern.lastIndex);
    at = pattern.lastIndex;
    return found;
  };
  function string() {
    const raw = take(STRING);
    if (raw === null) fail(text[at] === '"' ? 'this text does not end, or has a character that needs a backslash' : 'expected a text in double quotes');
    return { kind: 'string', raw };
  }
  function value(depth) {
    if (depth > DEEPEST) fail(`this is nested deeper than ${DEEPEST} levels`);
    blank();
    const c = text[at];
    if (c === '{') return object(depth);
    if (c === '[') return array(depth);
    if (c === '"') return string();
    for (const word of ['true', 'false', 'null']) {
      if (text.startsWith(word, at)) { at += word.length; return { kind: 'literal', raw: word }; }
    }
    const raw = take(NUMBER);
    if (raw !== null) return { kind: 'number', raw };
    return fail(c === undefined ? 'a value is missing here' : 'expected a value: a text in quotes, a number, true, false, null, { or [');
  }
  function object(depth) {
    const members = [];
    at += 1;
    blank();
    if (text[at] === '}') { at += 1; return { kind: 'object', members }; }
    for (;;) {
      blank();
      const name = string();
      blank();
      if (text[at] !== ':') fail('expected a colon after the name');
      at += 1;
      members.push({ name: nameOf(name.raw), rawName: name.raw, value: value(depth + 1) });
      blank();
      if (text[at] === ',') { at += 1; continue; }
      if (text[at] === '}') { at += 1; return { kind: 'object', members }; }
      fail('expected a comma or }');
    }
  }
  function array(depth) {
    const items = [];
    at += 1;
    blank();
    if (text[at] === ']') { at += 1; return { kind: 'array', items }; }
    for (;;) {
      items.push(value(depth + 1));
      blank();
      if (text[at] === ',') { at += 1; continue; }
      if (text[at] === ']') { at += 1; return { kind: 'array', items }; }
      fail('expected a comma or ]');
    }
  }
  const found = value(0);
  blank();
  return [found, at];
}

// A quoted text is the one thing that is read: it has no numbers.
const nameOf = raw => JSON.parse(raw);
export const textOf = node => (node?.kind === 'string' ? nameOf(node.raw) : null);
export const member = (node, name) => (node?.kind === 'object' ? node.members.findLast(found => found.name === name)?.value : undefined);
export const memberText = (node, name) => textOf(member(node, name));

export function compact(node) {
  if (node.kind === 'object') return `{${node.members.map(found => `${found.rawName}:${compact(found.value)}`).join(',')}}`;
  if (node.kind === 'array') return `[${node.items.map(compact).join(',')}]`;
  return node.raw;
}

export function pretty(node, indent = '') {
  const deeper = `${indent}  `;
  if (node.kind === 'object') {
    if (!node.members.length) return '{}';
    return `{\n${node.members.map(found => `${deeper}${found.rawName}: ${pretty(found.value, deeper)}`).join(',\n')}\n${indent}}`;
  }
  if (node.kind === 'array') {
    if (!node.items.length) return '[]';
    if (node.items.length < 30 && node.items.every(item => item.raw) && compact(node).length < 60) return `[${node.items.map(item => item.raw).join(', ')}]`;
    return `[\n${node.items.map(item => deeper + pretty(item, deeper)).join(',\n')}\n${indent}]`;
  }
  return node.raw;
}

export const tidy = text => { try { return pretty(parse(text)); } catch { return text; } };

// What a cell shows: a text without its quotes, anything else as it is.
export const shown = node => (node === undefined ? '' : node.kind === 'string' ? textOf(node) : compact(node));

// What the service sets. All else of an item is its owner's.
const SYSTEM = new Set(['_rid', '_self', '_etag', '_attachments', '_ts']);
export const isSystem = name => SYSTEM.has(name);
export const without = (node, hidden) => ({ kind: 'object', members: node.members.filter(found => !hidden(found.name)) });

// For sorting what is on the page: texts by letters, numbers by size as near as that can be told.
const RANK = { undefined: 0, literal: 1, number: 2, string: 3, array: 4, object: 5 };
export function compare(left, right) {
  const ranks = RANK[left?.kind ?? 'undefined'] - RANK[right?.kind ?? 'undefined'];
  if (ranks || !left) return ranks;
  if (left.kind === 'number') return Number(left.raw) - Number(right.raw);
  const [a, b] = [shown(left), shown(right)];
  return a < b ? -1 : a > b ? 1 : 0;
}
export const same = (left, right) => (left && right ? compact(left) === compact(right) : left === right);
export const quoted = text => JSON.stringify(text);
