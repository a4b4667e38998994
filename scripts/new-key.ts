/** `npm run new-key -- <name>`: a new API key for a caller, and the entry for the callers file. The key is shown once. */
import { newApiKey } from '../src/caller/api-key.ts';

const [name] = process.argv.slice(2);
if (!name || !/^[A-Za-z0-9_.-]{1,64}$/.test(name)) {
  console.error('usage: npm run new-key -- <name>   (1 to 64 of A-Z a-z 0-9 _ . -)');
  process.exit(2);
}
const { key, hash } = newApiKey();
console.log(
  `key for ${name}, shown this once:\n  ${key}\n\nin the callers file:\n  { "name": "${name}", "keys": ["${hash}"], "scopes": [], "enterprises": [], "channels": [], "users": [] }`,
);
