import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, until } from '../test/support/redis.ts';
import { endOf, pidOf, type Running } from './processes.ts';

const NGINX = '/usr/sbin/nginx';
const MODULE = '/usr/lib/nginx/modules/ngx_http_js_module.so';

/** True if Debian's packages `nginx` and `libnginx-mod-http-js` are installed. */
export const hasNginx = existsSync(NGINX) && existsSync(MODULE);

/** Starts nginx with one worker, which handles a read as the gateway does, in C and njs. */
export async function startNginx(platform: string, keyHash: string): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-nginx-'));
  const port = await freePort();
  const token = await fetch(`${platform}/oauth/token`, { method: 'POST' });
  const { access_token: bearer } = (await token.json()) as { access_token: string };
  const script = fileURLToPath(new URL('peers/nginx/gateway.js', import.meta.url));
  const pidFile = join(folder, 'pid');
  writeFileSync(
    join(folder, 'nginx.conf'),
    `load_module ${MODULE};
daemon off;
master_process off;
pid ${pidFile};
error_log ${folder}/error.log;
events { worker_connections 4096; }
http {
  js_import gateway from ${script};
  log_format request escape=json '{"time":"$time_iso8601","requestId":"$request_id","operation":"listAssets","status":$status,"durationMs":$request_time}';
  access_log ${folder}/access.log request buffer=16k flush=1s;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  keepalive_requests 1000000000;
  keepalive_timeout 72s;
  subrequest_output_buffer_size 1m;
  upstream platform { server ${new URL(platform).host}; keepalive 128; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port} backlog=1024;
    set $key_hash ${keyHash};
    location /v1/enterprises/ { js_content gateway.assets; }
    location /order/ {
      internal;
      proxy_pass http://platform;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Authorization "Bearer ${bearer}";
      proxy_pass_request_headers off;
    }
  }
}
`,
  );
  const child = spawn(NGINX, ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'ignore' });
  const stop = () => endOf(child, folder);
  const listens = () =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    );
  try {
    await until('nginx listens', async () => {
      if (child.exitCode !== null) throw new Error(readFileSync(join(folder, 'error.log'), 'utf8'));
      return listens();
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { ports: [port], pids: [pidOf(child)], stop };
}
