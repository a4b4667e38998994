/**
 * `npm run compose-secrets` makes up the secrets of docker-compose.yml in the git-ignored folder `.compose/`, and prints an API key for the
 * gateway once. Existing secrets are kept, unless the operator gives `--force`.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { newApiKey } from '../src/caller/api-key.ts';
import { scopes } from '../src/request/scopes.ts';

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

const { force } = parseArgs({ options: { force: { type: 'boolean', default: false } } }).values;
const there = Object.keys(files).filter((name) => existsSync(`.compose/${name}`));
if (there.length > 0 && !force) {
  console.error(
    `.compose/ has secrets already (${there.join(', ')}), and nothing was changed.\n` +
      'With --force they are replaced. Then the API key that was printed is refused, and with another encryption key the gateway\n' +
      'cannot read the orders that it has recorded: they are answered 503. Remove their volume too: docker compose down --volumes',
  );
  process.exit(1);
}

mkdirSync('.compose', { mode: 0o700, recursive: true });
for (const [name, content] of Object.entries(files)) {
  // Writing to an existing file does not change its mode.
  rmSync(`.compose/${name}`, { force: true });
  writeFileSync(`.compose/${name}`, content, { mode: 0o600, flag: 'wx' });
}
console.log(`.compose/ written; API key of the caller "demo", shown this once:\n  ${key}`);
const [uid, gid] = [process.getuid?.(), process.getgid?.()];
if (uid !== 1000 || gid !== 1000) {
  console.log(
    `The containers run as the owner of these files: SECRETS_UID=${uid} SECRETS_GID=${gid} docker compose up --build`,
  );
}
