/**
 * `npm run compose-secrets`: makes up what docker-compose.yml hands over as secrets, in the git-ignored folder `.compose/`,
 * and prints an API key for the gateway, this once.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { newApiKey } from '../src/caller/api-key.ts';
import { scopes } from '../src/caller/scopes.ts';

const { key, hash } = newApiKey();
const adminPassword = randomBytes(9).toString('base64url');
const callers = [
  { name: 'demo', keys: [hash], scopes, enterprises: ['*'], channels: ['crm'], users: ['default'] },
];
const files = {
  'app-key': randomBytes(12).toString('hex'),
  'app-secret': randomBytes(24).toString('hex'),
  'encryption-keys': `k1:${randomBytes(32).toString('base64')}`,
  'admin-password': adminPassword,
  'callers.json': JSON.stringify({ callers }, null, 2),
  'users.json': JSON.stringify({ default: { username: 'admin@harbour', password: adminPassword } }, null, 2),
};

// Readable by the containers' users, who are not this one; closed to others on this machine by the folder.
mkdirSync('.compose', { mode: 0o700, recursive: true });
for (const [name, content] of Object.entries(files)) {
  writeFileSync(`.compose/${name}`, content, { mode: 0o644 });
}
console.log(`.compose/ written; API key of the caller "demo", shown this once:\n  ${key}`);
