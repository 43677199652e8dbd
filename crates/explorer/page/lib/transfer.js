// Files: rows out as JSON lines or CSV, documents in from either.

import { parse, compact, shown, pretty, quoted, JsonProblem } from './json.js';

export function download(name, text, type = 'application/json') {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const anchor = document.createElement('a');
  anchor.href = url;
  anchor.download = name.replace(/[^\w.-]+/g, '-');
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

export const lines = texts => texts.map(text => `${compact(parse(text))}\n`).join('');
export const list = texts => `[\n${texts.map(text => pretty(parse(text))).join(',\n')}\n]\n`;

// A cell that a spreadsheet would take for a formula gets a quote in front. Numbers are left as they are.
function cell(node) {
  let text = shown(node);
  if (node?.kind === 'string' && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csv(texts, wanted) {
  const rows = texts.map(parse);
  const columns = wanted ?? columnsOf(rows);
  const name = text => cell({ kind: 'string', raw: quoted(text) });
  const line = row => columns.map(column => cell(row.kind === 'object' ? row.members.findLast(found => found.name === column)?.value : column === 'value' ? row : undefined));
  return [columns.map(name), ...rows.map(line)].map(fields => `${fields.join(',')}\r\n`).join('');
}

export function columnsOf(rows) {
  const columns = new Set();
  for (const row of rows) {
    if (row.kind === 'object') row.members.forEach(found => columns.add(found.name));
    else columns.add('value');
  }
  return [...columns];
}

// The documents of a file, as texts. The kind is told by how it begins.
export function documents(text, name) {
  const trimmed = text.replace(/^\ufeff/, '').trim();
  if (/\.csv$/i.test(name)) return fromCsv(trimmed);
  if (trimmed.startsWith('[')) {
    const found = parse(trimmed);
    return found.items.map(compact);
  }
  return trimmed.split('\n').map((line, n) => [line.trim(), n]).filter(([line]) => line).map(([line, n]) => {
    try { return compact(parse(line)); } catch (error) { throw new JsonProblem(`line ${n + 1}: ${error.message}`, error.place); }
  });
}

const LITERAL = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/;

// Numbers, true, false, null, objects and lists are what they look like; all else, and the id, is text.
function fromCsv(text) {
  const [header, ...rows] = records(text);
  return rows.map(fields => `{${header.map((name, n) => [name, fields[n] ?? '']).filter(([, value]) => value !== '')
    .map(([name, value]) => `${quoted(name)}:${name !== 'id' && (LITERAL.test(value) || isJson(value)) ? value : quoted(value)}`).join(',')}}`);
}
function isJson(value) {
  if (!/^[[{]/.test(value)) return false;
  try { parse(value); return true; } catch { return false; }
}
function records(text) {
  const all = [];
  let [record, value, isQuoted] = [[], '', false];
  for (let at = 0; at < text.length; at += 1) {
    const c = text[at];
    if (isQuoted) {
      if (c === '"' && text[at + 1] === '"') { value += '"'; at += 1; } else if (c === '"') isQuoted = false; else value += c;
    } else if (c === '"' && value === '') isQuoted = true;
    else if (c === ',') { record.push(value); value = ''; }
    else if (c === '\n') { record.push(value.replace(/\r$/, '')); all.push(record); [record, value] = [[], '']; }
    else value += c;
  }
  record.push(value);
  all.push(record);
  return all;
}
