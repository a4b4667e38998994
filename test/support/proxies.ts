import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Identity } from './certificates.ts';
import { freePort, until } from './redis.ts';

/** Debian's nginx, HAProxy and Apache as processes, which scripts/ensure-tools.ts installs. */

export interface Proxy {
  readonly url: string;
  stop(): Promise<void>;
}

/** nginx with the defaults of everything: answers are buffered, and the gateway gets HTTP/1.0. `location`: further directives. */
export async function startPlainNginx(target: string, location = 'location / {'): Promise<Proxy> {
  const port = await freePort();
  return startNginx(port, `server { listen 127.0.0.1:${port}; ${location} proxy_pass ${target}; } }`);
}

/** nginx with the file of deploy/nginx, in which only addresses and paths are others. */
export async function startShippedNginx(target: string, { cert, key }: Identity): Promise<Proxy> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'nginx-tls-'));
  writeFileSync(join(folder, 'gateway.pem'), cert);
  writeFileSync(join(folder, 'gateway.key'), key);
  const shipped = readFileSync('deploy/nginx/gateway.conf', 'utf8')
    .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
    .replaceAll('/etc/nginx/tls', folder)
    .replace('gateway-1:3000', new URL(target).host)
    .replace(/^ *server gateway-2:3000.*$/m, '');
  const proxy = await startNginx(port, shipped);
  return {
    url: proxy.url.replace('http:', 'https:'),
    stop: async () => {
      await proxy.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** HAProxy with the timeouts that its manual names for a start. */
export async function startHaproxy(target: string): Promise<Proxy> {
  const port = await freePort();
  return start('haproxy', port, (folder) => {
    const file = join(folder, 'haproxy.cfg');
    writeFileSync(
      file,
      `defaults
  mode http
  timeout connect 5s
  timeout client 50s
  timeout server 50s
frontend callers
  bind 127.0.0.1:${port}
  default_backend gateway
backend gateway
  server gateway-1 ${new URL(target).host}
`,
    );
    return ['-db', '-f', file];
  });
}

const APACHE_MODULES = ['mpm_event', 'authz_core', 'filter', 'deflate', 'proxy', 'proxy_http'];

/**
 * Apache with its defaults, which refuse an encoded slash in a path, and with the compression of JSON that Debian switches on. `slashes`: it
 * passes encoded slashes on as they are.
 */
export async function startApache(target: string, { slashes = false } = {}): Promise<Proxy> {
  const port = await freePort();
  return start('apache2', port, (folder) => {
    const file = join(folder, 'apache.conf');
    const load = (name: string) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`;
    writeFileSync(
      file,
      `${APACHE_MODULES.map(load).join('\n')}
ServerRoot ${folder}
DefaultRuntimeDir ${folder}
PidFile ${join(folder, 'pid')}
ErrorLog ${join(folder, 'log')}
ServerName localhost
Listen 127.0.0.1:${port}
StartServers 1
# Who starts it as root; it does not serve as root.
User www-data
Group www-data
AddOutputFilterByType DEFLATE application/json
${slashes ? 'AllowEncodedSlashes NoDecode' : ''}
ProxyPass / ${target}/ ${slashes ? 'nocanon' : ''}
`,
    );
    return ['-D', 'FOREGROUND', '-f', file];
  });
}

function startNginx(port: number, http: string): Promise<Proxy> {
  return start('nginx', port, (folder) => {
    const file = join(folder, 'nginx.conf');
    const parts = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
    writeFileSync(
      file,
      `daemon off;
pid ${join(folder, 'pid')};
error_log stderr;
worker_processes 1;
events { worker_connections 256; }
http {
  access_log off;
  ${parts.map((part) => `${part}_temp_path ${join(folder, part)};`).join(' ')}
  ${http}
}
`,
    );
    return ['-e', 'stderr', '-p', folder, '-c', file];
  });
}

async function start(command: string, port: number, write: (folder: string) => string[]): Promise<Proxy> {
  const folder = mkdtempSync(join(tmpdir(), `${command}-`));
  // Workers of a server that root has started are other users, and keep there what is too long for memory.
  chmodSync(folder, 0o755);
  const child = spawn(command, write(folder), {
    stdio: ['ignore', 'ignore', 'pipe'],
    // Debian has servers where only root looks for commands.
    env: { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` },
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  let isOver = false;
  const ended = new Promise<void>((resolve) => {
    child.once('error', ({ message }) => (said += message));
    child.once('close', () => {
      isOver = true;
      resolve();
    });
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  await until(`${command} listens`, async () => isOver || (await answers(port)));
  if (!isOver) return { url: `http://127.0.0.1:${port}`, stop };
  await stop();
  throw new Error(`${command} ended with ${child.exitCode}: ${said}`);
}

/** Whether HTTP is answered there, with whichever status. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    request({ host: '127.0.0.1', port, agent: false }, (response) => resolve(response.resume() !== undefined))
      .once('error', () => resolve(false))
      .end();
  });
}
