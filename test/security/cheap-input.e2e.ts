import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newSecret } from '../support/canary.ts';
import { Fleet } from '../support/fleet.ts';
import type { GatewayProcess } from '../support/gateway-process.ts';
import type { Question } from '../support/longest-turn.ts';
import { orderOf } from '../support/order-body.ts';
import { useSandbox } from '../support/stack.ts';

/** Input that costs its sender nothing, as much of it as a request may have: what does it cost others? */

const MAX_MS = 100;
const MAX_MIB = 150;
/** What other work of the machine adds to a figure is not the gateway's. */
const TRIES = 3;
/** The gateway says this if the machine has no time for its own limits of time. */
const TOO_BUSY = [503];

interface CheapInput {
  readonly path: string;
  readonly status: number;
  /** A request without a body is a GET. */
  readonly body?: () => string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

const MIB = 1024 * 1024;
const FILE = 15 * MIB;
const BODY = MIB - 64;
const IMPORT = '/v1/enterprises/ent-harbour/member-imports/dry-run';
const VALIDATE = '/v1/license-orders/dry-run';
const HEADER = 'account,password,name,departmentId,remark,passwordMobile';
const PASSWORD = newSecret('m');

/** `piece` again and again, between a beginning and an end. */
function filled(bytes: number, piece: string, begin = '', end = ''): Buffer {
  const count = Math.floor((bytes - begin.length - end.length) / Buffer.byteLength(piece));
  return Buffer.from(begin + piece.repeat(count) + end);
}
const list = <T>(length: number, make: (index: number) => T) =>
  Array.from({ length }, (_, index) => make(index));
const post =
  (path: string, type: string) =>
  (body: () => string | Buffer, status = 400): CheapInput => ({
    path,
    status,
    body,
    headers: { 'content-type': type },
  });
const csv = post(IMPORT, 'text/csv');
const ndjson = post(IMPORT, 'application/x-ndjson');
const order = post(VALIDATE, 'application/json');
const get = (path: string, status = 400, headers: CheapInput['headers'] = {}): CheapInput => ({
  path,
  status,
  headers,
});
/** What fits into a request beside the other headers. */
const MAX_HEADER = 15_000;
const ofType = (type: string) => post(IMPORT, type)(() => 'x', 415);
const unknownNames = (count: number, of = '') =>
  Object.fromEntries(list(count, (at) => [`${of}${at.toString(36)}`, 0]));

const ROW_OF_COMMAS = csv(() => filled(FILE, ',', `${HEADER}\n`));
const cheapInputs: Readonly<Record<string, CheapInput>> = {
  'CSV: a row of commas': ROW_OF_COMMAS,
  'CSV: rows of commas': csv(() => filled(FILE, `${','.repeat(4_095)}\n`, `${HEADER}\n`)),
  'CSV: a quote that does not close': csv(() => filled(FILE, 'x', `${HEADER}\n"`)),
  'CSV: a quote around doubled quotes': csv(() => filled(FILE, '""', `${HEADER}\n"`, '"\n')),
  'CSV: short rows without a fault': csv(
    () => ['account,password,name', ...list(10_000, (row) => `${row},${PASSWORD},n`)].join('\n'),
    200,
  ),
  'NDJSON: arrays in arrays': ndjson(() => filled(FILE, `${'['.repeat(16_000)}\n`)),
  'NDJSON: short rows without a fault': ndjson(
    () => list(10_000, (row) => `{"account":"${row}","password":"${PASSWORD}","name":"n"}`).join('\n'),
    200,
  ),
  'JSON: 49,000 unknown names': order(() => JSON.stringify(unknownNames(49_000))),
  'JSON: a name twice in the last of 50 objects': order(() =>
    JSON.stringify({ items: list(50, (at) => unknownNames(900, `${at}x`)) }).replace('"49x0"', '"49x1"'),
  ),
  'JSON: numbers of 20 digits': order(() => filled(BODY, '12345678901234567890,', '[', '0]')),
  'JSON: one text of escapes': order(() => filled(BODY, String.raw`\u0301`, '{"channelCode":"', '"}')),
  'JSON: 1,000 items, each with faults': order(() => {
    const assets = list(20, () => ({}));
    const items = list(1_000, () => ({ orderType: 'new_buy', customer: {}, assets }));
    return JSON.stringify({ ...orderOf('SO-1'), items });
  }),
  'a query of 4,000 names': get(`/v1/license-orders?${'a&'.repeat(4_000)}`),
  'a path of dots': get(`/${'.%2f'.repeat(1_600)}`, 404),
  'a token of spaces': get('/v1/jobs', 401, {
    authorization: `Bearer ${' '.repeat(MAX_HEADER)}x`,
    'x-api-key': '',
  }),
  'a key of dots': get('/v1/jobs', 401, { 'x-api-key': 'a.'.repeat(MAX_HEADER / 2) }),
  'types that it accepts': get('/v1/enterprises/ent-harbour/members/export', 406, {
    accept: 'a/b;q=0,'.repeat(MAX_HEADER / 8),
  }),
  tags: get('/v1/license-orders', 200, { 'if-none-match': 'W/"a",'.repeat(MAX_HEADER / 8) }),
  'spaces after the type': ofType(`application/x-ndjson${' '.repeat(MAX_HEADER)}; charset=gbk`),
};

const sandbox = useSandbox();
let fleet: Fleet;
let gateway: GatewayProcess;

beforeAll(async () => {
  const preload = new URL('../support/longest-turn.ts', import.meta.url).href;
  fleet = await Fleet.start(sandbox, 1, { how: { nodeOptions: `--import ${preload} --no-warnings` } });
  gateway = fleet.gateways[0] as GatewayProcess;
});
afterAll(() => fleet.stop());

/** The longest time for which one turn of the event loop has used the processor since the last question. */
async function longestTurnMs(): Promise<number> {
  const answer = once(gateway.child, 'message');
  gateway.child.send('longest turn' satisfies Question);
  return Number((await answer)[0]);
}

/** What an input costs, so many times at once. */
async function costOf({ path, body: make, headers }: CheapInput, times: number) {
  const body = make?.();
  const { pid } = gateway.child;
  const residentMiB = (name: 'VmRSS' | 'VmHWM') => {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1_024;
  };
  // The peak is counted from now on.
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  const before = residentMiB('VmRSS');
  await longestTurnMs();
  const send = async (): Promise<number> => {
    const response = await fetch(gateway.url + path, {
      headers: { 'x-api-key': fleet.key, ...headers },
      ...(body !== undefined && { method: 'POST', body }),
    });
    await response.arrayBuffer();
    return response.status;
  };
  const statuses = await Promise.all(list(times, send));
  return { statuses, turnMs: await longestTurnMs(), moreMiB: residentMiB('VmHWM') - before };
}

it.each(Object.entries(cheapInputs))(
  'K58 %s: other callers wait for a tenth of a second at most, and it takes little memory',
  async (_, input) => {
    const costs: Awaited<ReturnType<typeof costOf>>[] = [];
    const least = (of: 'turnMs' | 'moreMiB') => Math.min(...costs.map((cost) => cost[of]));
    do {
      costs.push(await costOf(input, 1));
    } while (costs.length < TRIES && (least('turnMs') > MAX_MS || least('moreMiB') > MAX_MIB));
    for (const status of costs.flatMap(({ statuses }) => statuses))
      expect([input.status, ...TOO_BUSY]).toContain(status);
    expect(least('turnMs')).toBeLessThanOrEqual(MAX_MS);
    expect(least('moreMiB')).toBeLessThanOrEqual(MAX_MIB);
    expect(gateway.child.exitCode).toBeNull();
  },
);

it('K58 five files of commas at once take little memory', async () => {
  const { moreMiB } = await costOf(ROW_OF_COMMAS, 5);
  expect(moreMiB).toBeLessThanOrEqual(MAX_MIB);
});
