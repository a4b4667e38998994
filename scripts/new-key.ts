/** `npm run new-key -- <name>` makes a new API key for a caller. */
import { newApiKey } from '../src/caller/api-key.ts';

const USAGE = `usage: npm run new-key -- <name>   (1 to 128 of A-Z a-z 0-9 _ . -, not - at first)

Makes a new API key for a caller, and the entry for the callers file. The key is shown once.`;

const [name = '', ...more] = process.argv.slice(2);
if (['--help', '-h', 'help'].includes(name)) {
  console.log(USAGE);
  process.exit(0);
}
if (more.length > 0 || !/^(?!-)[A-Za-z0-9_.-]{1,128}$/.test(name)) {
  const given = [name, ...more].join(' ');
  console.error(given === '' ? USAGE : `"${given}" is no name of a caller\n${USAGE}`);
  process.exit(2);
}
const { key, hash } = newApiKey();
console.log(
  `key for ${name}, shown this once:\n  ${key}\n\nin the callers file:\n  { "name": "${name}", "keys": ["${hash}"], "scopes": [], "enterprises": [], "channels": [], "users": [] }`,
);
