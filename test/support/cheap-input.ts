import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve as absolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { newSecret } from './canary.ts';
import type { Fleet } from './fleet.ts';
import type { GatewayProcess } from './gateway-process.ts';
import type { Question } from './longest-turn.ts';
import { orderOf } from './order-body.ts';

/** Input that costs its sender nothing, as much of it as a request may have: what does it cost others? */
export interface CheapInput {
  readonly name: string;
  readonly path: string;
  /** JSON where it is left out; a request without a body is a GET. */
  readonly type?: string;
  readonly body?: () => string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
}

/** Options of Node with which the gateway tells {@link longestTurnMs}. */
export const TELLS_TURNS = `--import ${pathToFileURL(absolute('test/support/longest-turn.ts')).href} --no-warnings`;

/** The longest time for which one turn of the event loop has used the processor since the last question. */
async function longestTurnMs({ child }: GatewayProcess): Promise<number> {
  const answer = once(child, 'message');
  child.send('longest turn' satisfies Question);
  return Number((await answer)[0]);
}

const MIB = 1024 * 1024;
const FILE = 15 * MIB;
const BODY = MIB - 64;
const CSV = 'text/csv';
const NDJSON = 'application/x-ndjson';
const IMPORT = '/v1/enterprises/ent-harbour/member-imports?validateOnly=true';
const VALIDATE = '/v1/license-orders?validateOnly=true';
const NUMBERS = '/v1/asset-num-reservations';
const HEADER = 'account,password,name,departmentId,remark,passwordMobile';

/** `piece` again and again, between a beginning and an end. */
function filled(bytes: number, piece: string, begin = '', end = ''): Buffer {
  const room = bytes - begin.length - end.length;
  const count = Math.floor(room / Buffer.byteLength(piece));
  return Buffer.concat([
    Buffer.from(begin),
    Buffer.alloc(count * Buffer.byteLength(piece), piece),
    Buffer.from(end),
  ]);
}

const csv = (name: string, body: () => string | Buffer, status = 400): CheapInput => ({
  ...{ name: `CSV: ${name}`, path: IMPORT, type: CSV, body, status },
});
const ndjson = (name: string, body: () => string | Buffer, status = 400): CheapInput => ({
  ...{ name: `NDJSON: ${name}`, path: IMPORT, type: NDJSON, body, status },
});
const order = (name: string, body: () => string | Buffer, status = 400): CheapInput => ({
  ...{ name: `JSON: ${name}`, path: VALIDATE, body, status },
});

const get = (name: string, path: string, status = 400, headers: CheapInput['headers'] = {}): CheapInput => ({
  ...{ name: `head: ${name}`, path, status, headers },
});
/** What fits into a request beside the other headers. */
const MOST_HEADER = 15_000;

/** Rows without a fault, as short as they can be. */
function shortRows(count: number, row: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => row(index)).join('\n');
}
const password = newSecret('m');

export const cheapInputs: readonly CheapInput[] = [
  csv('commas alone', () => filled(FILE, ',')),
  csv('a row of commas', () => filled(FILE, ',', `${HEADER}\n`)),
  csv('rows of commas', () => filled(FILE, `${','.repeat(4_095)}\n`, `${HEADER}\n`)),
  csv('the known names again and again', () => filled(FILE, `${HEADER},`)),
  csv('a quote that does not close', () => filled(FILE, 'x', `${HEADER}\n"`)),
  csv('a quote around doubled quotes', () => filled(FILE, '""', `${HEADER}\n"`, '"\n')),
  csv('empty quoted cells', () => filled(FILE, '"",', `${HEADER}\n`)),
  csv('blank lines', () => filled(FILE, '\n', `${HEADER}\n`)),
  csv('returns alone', () => filled(FILE, '\r', `${HEADER}\r`)),
  csv('byte order marks', () => filled(FILE, '\ufeff')),
  csv('blank lines before the header', () => filled(FILE, '\r\n')),
  csv('empty rows', () => filled(FILE, ',,,,,\n', `${HEADER}\n`)),
  csv(
    'short rows without a fault',
    () =>
      Buffer.from(
        `account,password,name\n${shortRows(10_000, (row) => `${row.toString(36)},${password},n`)}`,
      ),
    200,
  ),
  ndjson('blank lines', () => filled(FILE, '\n')),
  ndjson('lines of white space', () => filled(FILE, `${' '.repeat(16_000)}\n`)),
  ndjson('a line without an end', () => filled(FILE, '{')),
  ndjson('arrays in arrays', () => filled(FILE, `${'['.repeat(16_000)}\n`)),
  ndjson('rows of 4,000 numbers', () => filled(FILE, `[${'0,'.repeat(8_000)}0]\n`)),
  ndjson('rows of 3,000 unknown names', () =>
    filled(FILE, `{${Array.from({ length: 2_000 }, (_, at) => `"${at}":0`).join()}}\n`),
  ),
  ndjson(
    'short rows without a fault',
    () =>
      Buffer.from(
        shortRows(10_000, (row) => `{"account":"${row.toString(36)}","password":"${password}","name":"n"}`),
      ),
    200,
  ),
  order('commas', () => filled(BODY, ',', '[', ']')),
  order(
    '50,000 unknown names',
    () => `{${Array.from({ length: 49_000 }, (_, at) => `"${at.toString(36)}":0`).join()}}`,
  ),
  order('50 objects of 900 unknown names', () =>
    JSON.stringify({
      items: Array.from({ length: 50 }, (_, at) => ({
        orderType: 'new_buy',
        ...Object.fromEntries(Array.from({ length: 900 }, (__, name) => [`${at}x${name}`, 0])),
      })),
    }),
  ),
  order('a name twice in the last of 50 objects', () =>
    JSON.stringify({
      items: Array.from({ length: 50 }, (_, at) =>
        Object.fromEntries(Array.from({ length: 900 }, (__, name) => [`${at}x${name}`, 0])),
      ),
    }).replace('"49x0"', '"49x1"'),
  ),
  order('the same name again', () => filled(BODY, '"":0,', '{', '"":0}')),
  order('a name twice, behind text of quotes', () => filled(BODY, String.raw`\"`, '{"a":"', '","a":0}')),
  order('numbers beyond a double', () => filled(BODY, '1e9 ', '[', ']')),
  order('numbers of 20 digits', () => filled(BODY, '12345678901234567890,', '[', '0]')),
  order('one number', () => filled(BODY, '9', '[', ']')),
  order('one text', () => filled(BODY, 'x', '{"channelCode":"', '"}')),
  order('one text of escapes', () => filled(BODY, String.raw`\u0301`, '{"channelCode":"', '"}')),
  order('49,000 empty items', () => filled(2 * 49_000, '{},', '{"items":[', '{}]}')),
  order('1,000 items, each with faults', () =>
    JSON.stringify({
      ...orderOf('SO-1'),
      items: Array.from({ length: 1_000 }, () => ({
        orderType: 'new_buy',
        customer: {},
        assets: Array.from({ length: 20 }, () => ({})),
      })),
    }),
  ),
  order(
    'long unknown names',
    () =>
      `{${Array.from({ length: 100 }, (_, at) => `"${`${at}`.padEnd(10_000, '\u0001~/'.slice(1))}":0`).join()}}`,
  ),
  {
    name: 'JSON: 49,000 ids in a list',
    path: NUMBERS,
    body: () => filled(BODY, '"a",', '{"size":[', '""]}'),
    status: 400,
  },
  get('a query of 4,000 names', `/v1/license-orders?${'a&'.repeat(4_000)}`),
  get('a query of escapes', `/v1/license-orders?state=${'%CC%81'.repeat(1_300)}`),
  get('a list of ids without an end', `/v1/jobs?enterpriseGlobalId=${'a,'.repeat(3_900)}`),
  get('a path of dots', `/${'.%2f'.repeat(1_600)}`, 404),
  get('a path of short parts', `/v1${'/a'.repeat(4_000)}`, 404),
  get('a token of spaces', '/v1/jobs', 401, {
    authorization: `Bearer ${' '.repeat(MOST_HEADER)}x`,
    'x-api-key': '',
  }),
  get('a key of dashes', '/v1/jobs', 401, { 'x-api-key': '-'.repeat(MOST_HEADER) }),
  get('a key of dots', '/v1/jobs', 401, { 'x-api-key': 'a.'.repeat(MOST_HEADER / 2) }),
  get('types that it accepts', '/v1/enterprises/ent-harbour/members/export', 406, {
    accept: 'a/b;q=0,'.repeat(MOST_HEADER / 8),
  }),
  get('parameters of a type that it accepts', '/v1/jobs', 406, {
    accept: `a/b${';q=0'.repeat(MOST_HEADER / 4)}`,
  }),
  get('tags', '/v1/license-orders', 200, { 'if-none-match': 'W/"a",'.repeat(MOST_HEADER / 8) }),
  get('cookies', '/v1/license-orders', 200, { cookie: 'a=b; '.repeat(MOST_HEADER / 5) }),
  {
    ...order('spaces after the type', () => '{}', 415),
    type: `application/json${' '.repeat(MOST_HEADER)}; a=b`,
  },
  {
    ...ndjson('spaces after the type', () => '{}', 415),
    type: `application/x-ndjson${' '.repeat(MOST_HEADER)}; a=b`,
  },
  {
    ...csv('parameters of the type', () => 'x', 415),
    type: `text/csv${';header=present '.repeat(MOST_HEADER / 16)}x`,
  },
];

export interface Cost {
  readonly statuses: readonly number[];
  /** The longest time for which one turn of the event loop used the processor. */
  readonly turnMs: number;
  /** What the process took at most, beyond what it had before. */
  readonly moreMiB: number;
}

/** What `input` costs the first gateway of a fleet that {@link TELLS_TURNS}, so many times at once. */
export async function costOf(fleet: Fleet, input: CheapInput, times: number): Promise<Cost> {
  const [gateway] = fleet.gateways;
  if (!gateway) throw new Error('a fleet without a gateway');
  const body = input.body?.();
  const { pid } = gateway.child;
  const residentMiB = (name: 'VmRSS' | 'VmHWM') => {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1_024;
  };
  // The peak is counted from now on.
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  const before = residentMiB('VmRSS');
  await longestTurnMs(gateway);
  const send = async (): Promise<number> => {
    const response = await fetch(gateway.url + input.path, {
      headers: { 'x-api-key': fleet.key, 'content-type': input.type ?? 'application/json', ...input.headers },
      ...(body !== undefined && { method: 'POST', body }),
    });
    await response.arrayBuffer();
    return response.status;
  };
  const statuses = await Promise.all(Array.from({ length: times }, send));
  return { statuses, turnMs: await longestTurnMs(gateway), moreMiB: residentMiB('VmHWM') - before };
}
