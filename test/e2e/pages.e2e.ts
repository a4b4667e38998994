import { beforeEach, describe, expect, it } from '@jest/globals';
import { routes } from '../support/contract.ts';
import { useStack } from '../support/stack.ts';

const HARBOUR = '/v1/enterprises/ent-harbour';

const { sandbox, gateway } = useStack({ environment: { CACHE_TTL_MS: '60000' } });

beforeEach(async () => {
  // A write that names no enterprise empties the cache, which knows nothing of the reset.
  await gateway.post('/v1/asset-num-reservations', { size: 1 });
  await sandbox.reset();
});

type Item = Record<string, unknown>;

async function items(path: string): Promise<Item[]> {
  const answer = await gateway.get(path);
  expect(answer.status).toBe(200);
  return answer.body['items'] as Item[];
}

async function only(path: string, field: string): Promise<unknown[]> {
  return (await items(path)).map((item) => item[field]);
}

describe('a list that the platform returns whole', () => {
  it.each([
    ['assets', 'listAssets', 'assetId'],
    ['asset-nums', 'listAssetNums', 'assetNum'],
    ['lent-locks', 'listLentLocks', 'assetNum'],
  ])(
    '%s is fetched once for all of its pages, which together are the whole list',
    async (path, source, id) => {
      const whole = await gateway.get(`${HARBOUR}/${path}`);
      const total = (whole.body['items'] as Item[]).length;
      expect(whole.body).toMatchObject({ page: 1, pageSize: 100, total, totalPages: 1 });
      const cut: unknown[] = [];
      for (let page = 1; page <= total; page++) {
        const answer = await gateway.get(`${HARBOUR}/${path}?page=${page}&pageSize=1`);
        expect(answer.body).toMatchObject({ page, pageSize: 1, total, totalPages: total });
        cut.push(...(answer.body['items'] as Item[]).map((item) => item[id]));
      }
      expect(cut).toEqual((whole.body['items'] as Item[]).map((item) => item[id]));
      expect(await items(`${HARBOUR}/${path}?page=999`)).toEqual([]);
      expect(await sandbox.journal(source)).toHaveLength(1);
    },
  );

  it('is linked from page to page', async () => {
    const answer = await gateway.get(`${HARBOUR}/assets?pageSize=2&page=2&lentLock=false`);
    const { totalPages } = answer.body as { totalPages: number };
    const link = answer.headers.get('link') ?? '';
    for (const [relation, page] of Object.entries({ first: 1, prev: 1, next: 3, last: totalPages }))
      expect(link).toContain(`<${HARBOUR}/assets?pageSize=2&page=${page}&lentLock=false>; rel="${relation}"`);
  });

  it('can be read by a client where a long filter is in its links', async () => {
    const { status, headers } = await gateway.get(`${HARBOUR}/assets?extendCode=${'a'.repeat(8_000)}`);
    expect([status, headers.get('link')]).toEqual([200, null]);
  });

  it('has an Age since the call to the platform, also on a page that is requested for the first time', async () => {
    const first = await gateway.get(`${HARBOUR}/assets`);
    expect(first.headers.get('age')).toBeNull();
    const second = await gateway.get(`${HARBOUR}/assets?pageSize=3`);
    expect(second.headers.get('age')).toMatch(/^\d+$/);
    const fresh = await gateway.get(`${HARBOUR}/assets?pageSize=3`, {
      headers: { 'cache-control': 'no-cache' },
    });
    expect(fresh.headers.get('age')).toBeNull();
    expect(await sandbox.journal('listAssets')).toHaveLength(2);
  });
});

describe('a filter', () => {
  it('keeps the matching assets', async () => {
    expect(await only(`${HARBOUR}/assets?assetNum=8000001002`, 'assetId')).toEqual(['ast-1002']);
    const ofMember = await gateway.get(`${HARBOUR}/assets?memberGlobalId=mem-harbour-anna&pageSize=5`);
    expect(ofMember.body).toMatchObject({ items: [{ assetId: 'ast-1002' }], total: 1, totalPages: 1 });
    const types = await only(`${HARBOUR}/assets?licenseType=softkey`, 'licenseType');
    expect(types.length).toBeGreaterThan(0);
    expect(new Set(types)).toEqual(new Set(['softkey']));
    const all = await items(`${HARBOUR}/assets`);
    const lentLocks = await only(`${HARBOUR}/assets?lentLock=true`, 'assetId');
    expect(lentLocks).toEqual(all.filter((asset) => asset['lentLock']).map((asset) => asset['assetId']));
    expect(await only(`${HARBOUR}/assets?lentLock=false`, 'assetId')).toHaveLength(
      all.length - lentLocks.length,
    );
    const bound = '2027-01-01T00:00:00%2B08:00';
    expect(await only(`${HARBOUR}/assets?endsBefore=${bound}`, 'assetId')).toEqual(
      all
        .filter(({ endsAt }) => endsAt !== null && Date.parse(endsAt as string) < Date.UTC(2026, 11, 31, 16))
        .map((asset) => asset['assetId']),
    );
    expect(await sandbox.journal('listAssets')).toHaveLength(1);
  });

  it('keeps the asset numbers that are free, lent, online, or of a member', async () => {
    const all = await items(`${HARBOUR}/asset-nums`);
    const counts = (await gateway.get(`${HARBOUR}/overview`)).body['assetNums'] as Record<string, number>;
    const kept = async (query: string) => (await only(`${HARBOUR}/asset-nums?${query}`, 'assetNum')).length;
    expect(await kept('free=true')).toBe(counts['free']);
    expect(await kept('free=false')).toBe(all.length - (counts['free'] ?? 0));
    expect(await kept('lent=true')).toBe(counts['lent']);
    expect(await kept('online=true')).toBe(counts['online']);
    expect(await only(`${HARBOUR}/asset-nums?memberGlobalId=mem-harbour-anna`, 'assetNum')).toEqual([
      '8000001002',
    ]);
    expect(await sandbox.journal('listAssetNums')).toHaveLength(1);
  });

  it('keeps the lent locks that are lent, or lent to a member', async () => {
    expect(await only(`${HARBOUR}/lent-locks?lent=true`, 'assetNum')).toEqual(['8000001007']);
    expect(await only(`${HARBOUR}/lent-locks?lent=false`, 'assetNum')).toEqual(['8000001006']);
    expect(await only(`${HARBOUR}/lent-locks?memberGlobalId=mem-harbour-chen`, 'assetNum')).toEqual([
      '8000001007',
    ]);
  });

  it('of customers may name the channel alone', async () => {
    const all = await items('/v1/customers?channelCode=crm');
    const one = await items('/v1/customers?channelCode=crm&channelCustomerId=CH-1001');
    expect(all.length).toBeGreaterThan(one.length);
    expect(all).toEqual(expect.arrayContaining(one));
  });
});

describe('one asset', () => {
  it('is the same as in the list, from the same fetch', async () => {
    const [listed] = await items(`${HARBOUR}/assets?assetNum=8000001002`);
    expect((await gateway.get(`${HARBOUR}/assets/ast-1002`)).body).toEqual(listed);
    expect(await sandbox.journal('listAssets')).toHaveLength(1);
  });

  it('that a cached list lacks is looked up once more at the platform', async () => {
    await items(`${HARBOUR}/assets`);
    const missing = await gateway.get(`${HARBOUR}/assets/ast-9999`);
    expect(missing.body).toMatchObject({ status: 404, code: 'asset-not-found', outcome: 'not_processed' });
    expect(await sandbox.journal('listAssets')).toHaveLength(2);
  });

  it('of another enterprise is not found', async () => {
    expect((await gateway.get('/v1/enterprises/ent-meridian/assets/ast-1002')).status).toBe(404);
  });
});

describe('HEAD', () => {
  it.each([`${HARBOUR}/assets`, '/openapi.json', '/docs'])(
    'of %s that is not modified tells no length but that of GET',
    async (path) => {
      const { headers } = await gateway.get(path);
      const known = { headers: { 'if-none-match': headers.get('etag') ?? '' } };
      const head = await gateway.request('HEAD', path, known);
      expect(head.status).toBe(304);
      expect([null, headers.get('content-length')]).toContain(head.headers.get('content-length'));
    },
  );

  it('of every read has the status and headers of GET, and no body', async () => {
    const reads = routes.filter(
      ({ method, template }) => method === 'GET' && !/\{(slug|channelOrderId)\}/.test(template),
    );
    for (const { template, operation } of reads) {
      let path = template;
      const query = new URLSearchParams();
      for (const parameter of operation.parameters ?? []) {
        const example = String(parameter.example ?? parameter.schema?.example);
        if (parameter.in === 'path') path = path.replace(`{${parameter.name}}`, example);
        else if (parameter.in === 'query' && parameter.required) query.set(parameter.name, example);
      }
      const url = query.size > 0 ? `${path}?${query}` : path;
      const get = await gateway.get(url);
      const head = await gateway.request('HEAD', url);
      expect([url, head.status, head.text]).toEqual([url, get.status, '']);
      for (const header of ['content-type', 'content-length', 'etag', 'link'])
        expect([url, header, head.headers.get(header)]).toEqual([url, header, get.headers.get(header)]);
    }
  });
});
