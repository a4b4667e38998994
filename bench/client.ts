/**
 * `npm run bench:client` compares the processor time of a call through the client package with `fetch` and `JSON.parse` by hand. The server
 * is a separate process that sends the gateway's responses; only this process is measured. Exits with 1 above the bound.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Licensing } from '../client/src/licensing.ts';
import { assetsAnswer } from './payloads.ts';

const CALLS = 400;
const ROUNDS = 15;
const AT_ONCE = 8;
/** The bound, as a factor of the time by hand. */
const BOUND = 1.15;

const { data: items } = JSON.parse(assetsAnswer(50_000).body.toString()) as { data: object[] };
const page = JSON.stringify({ items, page: 1, pageSize: 100, total: items.length, totalPages: 1 });

const SERVER = `
  const { createServer } = require('node:http');
  const page = process.argv[1];
  let count = 0;
  createServer((request, response) => {
    const unchanged = request.url.includes('unchanged') && request.headers['if-none-match'] === '"one"';
    const etag = request.url.includes('unchanged') ? '"one"' : '"' + ++count + '"';
    const headers = { 'content-type': 'application/json; charset=utf-8', etag, 'x-request-id': 'r', 'cache-control': 'private, no-cache' };
    response.writeHead(unchanged ? 304 : 200, headers).end(unchanged ? undefined : page);
  }).listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;
const server = spawn(process.execPath, ['-e', SERVER, page], { stdio: ['ignore', 'pipe', 'inherit'] });
const [port] = (await once(server.stdout, 'data')) as [Buffer];
const baseUrl = `http://127.0.0.1:${Number(port)}`;
const licensing = new Licensing({ baseUrl, apiKey: 'k' });

const byHand = async (enterprise: string) => {
  const response = await fetch(`${baseUrl}/v1/enterprises/${enterprise}/assets?pageSize=100`, {
    headers: { 'x-api-key': 'k', accept: 'application/json' },
  });
  if (!response.ok) throw new Error(String(response.status));
  return JSON.parse(await response.text()) as unknown;
};
const byClient = (enterpriseGlobalId: string) => licensing.assets.list({ enterpriseGlobalId, pageSize: 100 });
const ways = {
  'by hand': () => byHand('changed'),
  'client, changed each time': () => byClient('changed'),
  'client, unchanged (304)': () => byClient('unchanged'),
};

/** Returns the microseconds of the processor for a call. */
async function cost(call: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  let left = CALLS;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (left-- > 0) await call();
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CALLS;
}

const costs = new Map<string, number[]>();
for (let round = -2; round < ROUNDS; round++) {
  for (const [name, call] of Object.entries(ways)) {
    const one = await cost(call);
    if (round >= 0) costs.set(name, [...(costs.get(name) ?? []), one]);
  }
}
server.kill();

/** Returns the least of all rounds, because the machine's other work only adds to the time. */
const least = (name: string) => Math.min(...(costs.get(name) ?? []));
const hand = least('by hand');
for (const name of Object.keys(ways))
  process.stdout.write(
    `${name.padEnd(28)} ${least(name).toFixed(0).padStart(5)} µs of processor  ${(least(name) / hand).toFixed(2)}\n`,
  );
process.exitCode = least('client, changed each time') / hand <= BOUND ? 0 : 1;
