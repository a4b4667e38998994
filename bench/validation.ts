import 'reflect-metadata';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';

/**
 * What parsing and checking a request costs: `npm run bench:validation` prints processor time beside that of the plain way
 * (class-transformer with class-validator, `JSON.parse`), interleaved, median of rounds. Reads the build.
 */

const ROUNDS = 15;
const ROUND_MS = 60;

async function built<T>(path: string): Promise<T> {
  return (await import(new URL(`../dist/${path}`, import.meta.url).href)) as T;
}

type ClassOf = new () => object;
const { RequestValidationPipe } = await built<{
  RequestValidationPipe: new () => { transform: (value: unknown, metadata: object) => unknown };
}>('validation/validation.pipe.js');
const { readRequestBody } = await built<{ readRequestBody: (bytes: Buffer) => object }>(
  'validation/request-body.js',
);
const { parseJson } = await built<{ parseJson: (bytes: Buffer, limits: { maxDepth: number }) => unknown }>(
  'shared/json.js',
);
const { PlaceOrderDto } = await built<{ PlaceOrderDto: ClassOf }>('order/dto/license-order.dto.js');
const { ListMembersQuery } = await built<{ ListMembersQuery: ClassOf }>('member/dto/member.dto.js');

const product = {
  productUri: 'draft.pro',
  crmProductId: 'CRM-P-1',
  productName: 'Draft Pro Édition',
  productType: 'basic',
  startsAt: '2026-01-01T00:00:00.000Z',
  endsAt: '2027-01-01T00:00:00.000Z',
  limitConcurrent: 5,
  trial: false,
  timeDurationExpression: '1-0-0',
  features: [{ code: 'export', name: 'Export', value: 'on', valueType: 'string', trial: false }],
};
const purchase = {
  orderType: 'new_buy',
  licenseType: 'cloud_account',
  customerType: 'company',
  customer: { customerId: 'cus-1', enterpriseGlobalId: 'ent-1', customerName: 'Harbour Engineering' },
  admin: { name: 'Anna Berg', account: 'anna', email: 'anna@harbour.example' },
  assets: [
    { assetNums: ['8000001003'], extensions: [{ code: 'site', value: 'pier-1' }], products: [product] },
  ],
};
const orderOf = (items: readonly object[]) => ({ channelCode: 'crm', channelOrderId: 'SO-1', items });
const batchOf = (size: number) => orderOf(Array.from({ length: size }, () => purchase));
const answerOf = (size: number) => {
  const asset = {
    id: 'ID',
    licenseType: 'softkey',
    assetNum: '8000001003',
    createTime: 1_767_225_600_000,
    lent: false,
  };
  const data = Array.from({ length: size }, () => asset);
  return Buffer.from(
    JSON.stringify({ code: 0, message: 'success', data }).replaceAll('"ID"', '9007199254740993'),
  );
};

const pipe = new RequestValidationPipe();
const options = { whitelist: true, forbidNonWhitelisted: true };

type Work = () => unknown;
type Row = readonly [name: string, ours: Work, plain: Work];

function checking(name: string, metatype: ClassOf, value: object, type = 'body'): Row {
  const ours = () => {
    try {
      return pipe.transform(value, { type, metatype });
    } catch {
      return undefined;
    }
  };
  return [name, ours, () => validateSync(plainToInstance(metatype, value), options)];
}

function reading(name: string, bytes: Buffer, ours: Work): Row {
  return [name, ours, () => JSON.parse(bytes.toString()) as unknown];
}

const body = Buffer.from(JSON.stringify(batchOf(10)));
const rows: readonly Row[] = [
  checking('check a batch of 10 orders', PlaceOrderDto, batchOf(10)),
  checking('check a batch of 1,000 orders', PlaceOrderDto, batchOf(1_000)),
  checking('check a query', ListMembersQuery, { page: '2', pageSize: '50', keyword: 'anna' }, 'query'),
  checking('refuse 49,000 empty orders', PlaceOrderDto, orderOf(Array.from({ length: 49_000 }, () => ({})))),
  reading('read a batch of 10 orders', body, () => readRequestBody(body)),
  ...[8, 170, 8_500].map((size) => {
    const bytes = answerOf(size);
    const kilobytes = Math.round(bytes.length / 1_024).toLocaleString('en');
    return reading(`parse an answer of ${kilobytes} KB`, bytes, () => parseJson(bytes, { maxDepth: 64 }));
  }),
];

/** Microseconds of processor time a run, in one round. */
function timed(work: Work, runs: number): number {
  const before = process.cpuUsage();
  for (let run = 0; run < runs; run++) work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / runs;
}

function runsIn(work: Work, ms: number): number {
  const end = performance.now() + ms;
  let runs = 0;
  for (; runs === 0 || performance.now() < end; runs++) work();
  return runs;
}

const median = (values: number[]) =>
  values.sort((one, other) => one - other)[values.length >> 1] ?? Number.NaN;

console.log(`${'µs'.padEnd(36)}${'ours'.padStart(12)}${'plain'.padStart(12)}${'ratio'.padStart(8)}`);
for (const [name, ...works] of rows) {
  const runs = works.map((work) => runsIn(work, 4 * ROUND_MS) && runsIn(work, ROUND_MS));
  const rounds = Array.from({ length: ROUNDS }, () =>
    works.map((work, index) => timed(work, runs[index] ?? 1)),
  );
  const [ours = Number.NaN, plain = Number.NaN] = works.map((_, index) =>
    median(rounds.map((round) => round[index] ?? 0)),
  );
  const ratio = (ours / plain).toFixed(2);
  console.log(
    `${name.padEnd(36)}${ours.toFixed(1).padStart(12)}${plain.toFixed(1).padStart(12)}${ratio.padStart(8)}`,
  );
}
