import { expect } from '@jest/globals';
import type { TestGateway } from './gateway.ts';
import { askDatabase } from './postgres.ts';
import { until } from './redis.ts';
import type { TestSandbox } from './sandbox.ts';

/** What tests ask of the estate, and of the platform that it is a copy of. */

export const LIST = '/v1/estate';
export const SUMMARY = '/v1/estate/summary';
export const REFRESH = '/v1/estate/refreshes';
export const ESTATE = { ESTATE_REFRESH: '6h' };
export interface Row {
  readonly [field: string]: unknown;
  readonly enterpriseGlobalId: string;
  readonly assetId: string;
  readonly productId: string | null;
}
export interface Enterprise {
  readonly enterpriseGlobalId: string;
  readonly state: string;
  readonly reason: string | null;
  readonly seenAt: string | null;
}
export interface PlatformState {
  readonly customers: readonly { customerId: string; enterpriseGlobalId: string | null }[];
  readonly assets: readonly { id: string; customerId: string; revoked: boolean; lentInto: string | null }[];
  readonly products: readonly { id: string; assetId: string | null }[];
}

export async function enterprisesOf(gateway: TestGateway, key?: string): Promise<readonly Enterprise[]> {
  const { status, body } = await gateway.get(SUMMARY, key === undefined ? {} : { key });
  expect(status).toBe(200);
  return body['enterprises'] as readonly Enterprise[];
}
export async function enterpriseOf(gateway: TestGateway, id: string): Promise<Enterprise | undefined> {
  return (await enterprisesOf(gateway)).find(({ enterpriseGlobalId }) => enterpriseGlobalId === id);
}
export async function rowsOf(gateway: TestGateway, query = '', key?: string): Promise<readonly Row[]> {
  const { status, body } = await gateway.get(
    `${LIST}?pageSize=1000${query}`,
    key === undefined ? {} : { key },
  );
  expect(status).toBe(200);
  return body['items'] as readonly Row[];
}
export const isRead = (gateway: TestGateway, count: number) =>
  until('all enterprises are read', async () => {
    const all = await enterprisesOf(gateway);
    return all.length >= count && all.every(({ state }) => state === 'whole');
  });
export const isState = (gateway: TestGateway, id: string, state: string, after = '') =>
  until(`${id} is ${state}`, async () => {
    const one = await enterpriseOf(gateway, id);
    return one?.state === state && (one.seenAt ?? '') > after;
  });
/** Lets each reading and refresh be a minute old, so that the next change or refresh lets its enterprise be read at once. */
export const ageReadings = ({ DATABASE_URL }: { readonly DATABASE_URL: string }) =>
  askDatabase(
    DATABASE_URL,
    `UPDATE estate_enterprises SET seen_at = seen_at - 60000,
      asked_at = CASE WHEN asked_at > 60000 THEN asked_at - 60000 ELSE asked_at END`,
  );
/** Lets the calls of all gateways for the estate follow each other at once: the turns of the database's table last no time. */
export const quickTurns = ({ DATABASE_URL }: { readonly DATABASE_URL: string }) =>
  askDatabase(
    DATABASE_URL,
    `CREATE FUNCTION quick_turn() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN NEW.next_at := 0; RETURN NEW; END';
    CREATE TRIGGER quick_turn BEFORE INSERT OR UPDATE OF next_at ON estate_turns
      FOR EACH ROW EXECUTE FUNCTION quick_turn()`,
  );
export const refresh = async (gateway: TestGateway, enterpriseGlobalId: string) =>
  expect((await gateway.post(REFRESH, { enterpriseGlobalId })).status).toBe(202);

/** Every product on an asset of the platform, and every asset without one: `enterprise asset product`. */
export async function atPlatform(sandbox: TestSandbox): Promise<string[]> {
  const { customers, assets, products } = await sandbox.control<PlatformState>('GET', '/state');
  const owner = new Map(customers.map((each) => [each.customerId, each.enterpriseGlobalId]));
  return assets
    .filter(({ revoked }) => !revoked)
    .flatMap(({ id, customerId }) => {
      // A lent lock has the rights of what is lent into it.
      const lent = assets.filter(({ lentInto }) => lentInto === id).map((each) => each.id);
      const own = products.filter(({ assetId }) => assetId === id || lent.includes(assetId ?? ''));
      return (own.length > 0 ? own.map((each) => each.id) : ['none']).map(
        (product) => `${owner.get(customerId)} ${id} ${product}`,
      );
    })
    .toSorted();
}
export const namesOf = (rows: readonly Row[]) =>
  rows.map((row) => `${row.enterpriseGlobalId} ${row.assetId} ${row.productId ?? 'none'}`).toSorted();
