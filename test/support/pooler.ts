import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { otherUser } from './postgres.ts';
import { freePort, serverFolder } from './redis.ts';

/** PgBouncer in front of a server: it gives each transaction a session of its own choice. It refuses to run as root. */
export async function startPooler(server: { readonly port: number }, url: string) {
  const { username, password } = new URL(url);
  const folder = serverFolder('pooler-test-');
  const port = await freePort();
  writeFileSync(
    join(folder, 'pooler.ini'),
    [
      '[databases]',
      `postgres = host=127.0.0.1 port=${server.port} dbname=postgres user=${username} password=${password}`,
      '[pgbouncer]',
      `listen_addr = 127.0.0.1`,
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'pool_mode = transaction',
      'auth_type = plain',
      `auth_file = ${join(folder, 'users.txt')}`,
      'default_pool_size = 3',
    ].join('\n'),
  );
  writeFileSync(join(folder, 'users.txt'), `"${username}" "${password}"\n`);
  chmodSync(folder, 0o755);
  const child = spawn('pgbouncer', [join(folder, 'pooler.ini')], {
    ...otherUser(),
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: `${process.env['PATH']}:/usr/sbin` },
  });
  await new Promise<void>((resolve, reject) => {
    let last = '';
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`pgbouncer ended with ${code}: ${last}`)));
    createInterface({ input: child.stderr }).on('line', (line) => {
      last = line;
      if (line.includes('process up')) resolve();
    });
  });
  return {
    url: url.replace(/:\d+\//, `:${port}/`),
    stop: async () => {
      const gone = once(child, 'exit');
      child.kill('SIGQUIT');
      await gone;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
