import { expect, it } from '@jest/globals';
import { newEncryptionKey } from '../support/canary.ts';
import { emptyDatabase } from '../support/database.ts';
import { endings } from '../support/endings.ts';
import { atPlatform, ESTATE, isRead, LIST, namesOf, type Row } from '../support/estate.ts';
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
