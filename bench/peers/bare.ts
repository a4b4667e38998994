import { createServer, type IncomingMessage } from 'node:http';
import { Pool } from 'undici';
import { serve } from './serve.ts';

/**
 * The reference: the least that any gateway on Node must do. `node:http` in, an undici pool out, parse, unwrap `data`, stringify; no
 * routes, no checks, no renaming.
 */

const upstream = new Pool(process.env['UPSTREAM'] ?? '', { connections: 128, keepAliveTimeout: 120_000 });
const HEADERS = { authorization: 'Bearer canned', 'content-type': 'application/json' };

const server = createServer((request, response) => {
  const { method = 'GET', url = '/' } = request;
  void relay(method, url, method === 'POST' ? request : undefined).then(
    (text) => {
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
      });
      response.end(text);
    },
    () => response.writeHead(502).end(),
  );
});
serve(server);

async function relay(method: string, path: string, request: IncomingMessage | undefined): Promise<string> {
  const body = request && JSON.stringify(JSON.parse(await read(request)));
  const answer = await upstream.request({ method: method as 'GET', path, headers: HEADERS, body });
  const { data } = JSON.parse(await answer.body.text()) as { data: unknown };
  return JSON.stringify(data);
}

function read(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => resolve(Buffer.concat(chunks).toString()));
    request.on('error', reject);
  });
}
