import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { newEncryptionKey } from '../support/canary.ts';
import { emptyDatabase } from '../support/database.ts';
import { endings } from '../support/endings.ts';
import { atPlatform, ESTATE, isRead, LIST, namesOf, type Row, rowsOf } from '../support/estate.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { TestGateway } from '../support/gateway.ts';
import { until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

const { ended, atEnd } = endings();
const COMPANIES = { enterprises: 2, assets: 150, products: 3 };
const callers = [{ name: 'seller', enterprises: ['ent-0001', 'ent-0002'] }];

it('E1 A large estate is read to its end by the process after a killed one, and each page has its own rows', async () => {
  const sandbox = await TestSandbox.start({ companies: COMPANIES });
  atEnd(() => sandbox.close());
  const { url, remove } = await emptyDatabase('file');
  atEnd(remove);
  const environment = { ...ESTATE, DATABASE_URL: url, ENCRYPTION_KEYS: newEncryptionKey() };
  const first = new TestGateway(callers);
  let process: Awaited<ReturnType<typeof startGatewayProcess>> | undefined;
  await first.open(sandbox, environment, async (all) => (process = await startGatewayProcess(all)));
  const calls = async () => (await sandbox.journal('listAssetProducts')).length;
  await until('a part is read', async () => (await calls()) >= 60);
  process?.child.kill('SIGKILL');
  await process?.ended;
  const second = ended(await TestGateway.start(sandbox, environment, callers));
  await isRead(second, COMPANIES.enterprises);
  const rows: Row[] = [];
  for (let page = 1; ; page++) {
    const { body } = await second.get(`${LIST}?pageSize=70&page=${page}`);
    const items = body['items'] as Row[];
    rows.push(...items);
    if (page === body['totalPages']) break;
  }
  const wanted = (await atPlatform(sandbox)).filter((name) => /^ent-000[12] /.test(name));
  expect(wanted).toHaveLength(COMPANIES.enterprises * COMPANIES.assets * COMPANIES.products);
  expect(namesOf(rows)).toEqual(wanted);
  expect(await calls()).toBeLessThanOrEqual(COMPANIES.enterprises * COMPANIES.assets + 1);
  await first.stop();
});

it('E12 What a write changes during a long reading is shown before the reading ends, and the reading ends', async () => {
  const assets = 150;
  const sandbox = await TestSandbox.start({ companies: { enterprises: 1, assets, products: 1 } });
  atEnd(() => sandbox.close());
  const gateway = ended(
    await TestGateway.start(sandbox, ESTATE, [{ name: 'seller', enterprises: ['ent-0001'] }]),
  );
  const calls = async () => (await sandbox.journal('listAssetProducts')).length;
  await until('half of it is read', async () => (await calls()) >= assets / 2);
  const path = '/v1/enterprises/ent-0001/members/mem-0001-1/asset-nums';
  const { status } = await gateway.request('PATCH', path, { body: { assign: ['8700010144'] } });
  expect(status).toBe(200);
  await until('the copy shows who has it', async () => {
    const [row] = await rowsOf(gateway, '&find=8700010144');
    return row?.['memberGlobalId'] === 'mem-0001-1';
  });
  expect(await calls()).toBeLessThan(assets);
  await isRead(gateway, 1);
  // The products of the assets that the write named may be read twice.
  expect(await calls()).toBeLessThanOrEqual(assets + 10);
});

/** How long each request of a caller takes, in turns at two gateways: the slowest of a hundred at each. */
async function p99Of(gateways: readonly TestGateway[], samples: number): Promise<number[]> {
  const times = gateways.map((): number[] => []);
  for (let sample = 0; sample < samples; sample++)
    for (const [at, gateway] of gateways.entries()) {
      const from = performance.now();
      const headers = { 'cache-control': 'no-cache' };
      expect((await gateway.get('/v1/enterprises/ent-0001/assets', { headers })).status).toBe(200);
      times[at]?.push(performance.now() - from);
      await sleep(5);
    }
  return times.map((all) => all.toSorted((one, two) => one - two)[Math.floor(samples * 0.99)] ?? 0);
}

/** The long-lived objects of the process, in MiB. */
async function oldMiB(gateway: TestGateway): Promise<number> {
  const [, bytes] =
    /^nodejs_heap_space_size_used_bytes\{space="old"\} (\S+)/m.exec(await gateway.metrics()) ?? [];
  return Number(bytes) / 1024 ** 2;
}

it('E1 The reading of the estate takes two calls a second, and other callers wait no longer beside it', async () => {
  const sandbox = await TestSandbox.start({ companies: { enterprises: 2, assets: 600, products: 3 } });
  atEnd(() => sandbox.close());
  const reading = ended(await TestGateway.start(sandbox, ESTATE, callers));
  const without = ended(await TestGateway.start(sandbox, {}, callers));
  const calls = async () => (await sandbox.journal('listAssetProducts')).length;
  await until('it is reading', async () => (await calls()) > 10);
  const [callsBefore, before, began] = [await calls(), await oldMiB(reading), performance.now()];
  const [beside = 0, alone = 0] = await p99Of([reading, without], 5_000);
  const callsASecond = ((await calls()) - callsBefore) / ((performance.now() - began) / 1_000);
  expect(callsASecond).toBeGreaterThan(1);
  expect(callsASecond).toBeLessThanOrEqual(2.05);
  const grown = (await oldMiB(reading)) - before;
  const found = { beside, alone, grown };
  expect({ ...found, fits: beside <= 1.2 * alone, isFlat: grown < 20 }).toEqual({
    ...found,
    fits: true,
    isFlat: true,
  });
});
