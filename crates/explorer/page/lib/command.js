// What does the same in a terminal: a change of regions and faults as a command, a recorded script as one for a shell.

import { nameOf } from './api.js';

// Where `cosmonaut region` looks by itself.
const USUAL = /^http:\/\/(127\.0\.0\.1|localhost):8080\/?$/;
const quote = text => (/^[\w./:-]+$/.test(text) ? text : `'${String(text).replaceAll('\'', '\'\\\'\'')}'`);
const FLAGS = { operations: 'operations', region: 'region', container: 'container', partition: 'partition', status: 'status', subStatus: 'sub-status', delay: 'delay', retryAfter: 'retry-after', probability: 'probability', count: 'count' };

// `management` is where the emulator is managed that the page shows.
export const command = (management, method, path, body) => `cosmonaut region ${words(method, path, body ?? {})}${where(management)}`;

const where = management => (!management || USUAL.test(management) ? '' : ` --management ${quote(management)}`);

function words(method, path, body) {
  const parts = path.split('/').map(nameOf);
  const between = [body.from && ` --from ${quote(body.from)}`, body.to && ` --to ${quote(body.to)}`].filter(Boolean).join('');
  const forced = body.forced ? ' --forced' : '';
  if (parts[0] === 'regions' && parts.length === 1) return `add ${quote(body.name)}`;
  if (parts[0] === 'regions' && parts.length === 2) return `remove ${quote(parts[1])}`;
  if (parts[0] === 'regions') return `${parts[2]} ${quote(parts[1])}${body.delay ? ` ${quote(body.delay)}` : ''}${body.mode && body.mode !== 'refuse' ? ` --mode ${body.mode}` : ''}`;
  if (parts[0] === 'failover') return `failover ${quote(body.to)}${forced}`;
  if (parts[0] === 'links') return body.lag ? `lag ${quote(body.lag)}${between}` : `${body.paused ? 'pause' : 'resume'}${between}`;
  if (parts[1] === 'split') return `split ${quote(body.container)} ${quote(body.partition)}`;
  if (parts[1] === 'failover') return `partition failover ${quote(body.container)} ${quote(body.partition)} ${quote(body.to)}${forced}`;
  if (parts[0] === 'faults' && method === 'DELETE') return `clear${parts[1] ? ` ${parts[1]}` : ''}`;
  return `fault ${body.effect}${Object.entries(FLAGS).filter(([name]) => body[name] !== undefined).map(([name, flag]) => ` --${flag} ${quote(body[name])}`).join('')}`;
}

// A fault gets another id each time: what a later line lifts is kept in a variable.
export function shell(management, lines) {
  const text = lines.map((one, n) => {
    const pause = n ? `sleep ${((one.at - lines[n - 1].at) / 1000).toFixed(1)}\n` : '';
    if (one.lifts !== undefined) return `${pause}cosmonaut region clear "$fault${one.lifts + 1}"${where(management)}\n`;
    const line = command(management, one.method, one.path, one.body);
    if (!lines.some(other => other.lifts === n)) return `${pause}${line}\n`;
    return `${pause}fault${n + 1}=$(${line} --json | sed -n 's/.*"id": *\\([0-9]*\\).*/\\1/p')\n`;
  });
  return text.join('');
}
