import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { codePoint } from '../../test/support/code-point.ts';
import { type UpstreamOperation, operationList, operations } from './operations.ts';
import { upstreamPath } from './upstream.exchange.ts';

/** The interface's own list (sections 4.1 and 4.2), written out once more, so that a slip in the table becomes visible. */
const documented = `
  POST   /order/api/order/v1/enterprise/user/bind
  POST   /order/api/order/v1/enterprise/user/create
  GET    /order/api/order/v1/enterprise/user/query
  POST   /order/api/order/v1/enterprise/user/update
  POST   /order/api/order/v1/licenseOrder/batchOrder
  POST   /order/api/order/v1/asset/lock
  POST   /order/api/order/v1/asset/unlock
  GET    /order/api/order/v1/asset/{enterpriseGlobalId}/list
  POST   /order/api/order/v1/shellnums
  POST   /me/api/v1/enterprise/{enterpriseGlobalId}/member
  PUT    /me/api/v1/enterprise/{enterpriseGlobalId}/member/{memberGlobalId}
  PUT    /me/api/v1/enterprise/{enterpriseGlobalId}/member/{memberGlobalId}/resetPassword
  DELETE /me/api/v1/enterprise/{enterpriseGlobalId}/member/{memberGlobalId}
  GET    /me/api/v1/enterprise/{enterpriseGlobalId}/members
  GET    /me/api/v1/enterprise/{enterpriseGlobalId}/asset/assetNums
  GET    /me/api/v1/enterprise/asset/{assetId}/merchandiseProducts
  GET    /me/api/v1/enterprise/{enterpriseGlobalId}/asset/borrowUsbKeys
  POST   /me/api/v1/enterprise/member/{memberGlobalId}/privileges
  POST   /me/api/v1/enterprise/member/{memberGlobalId}/borrow`
  .trim()
  .split('\n')
  .map((line) => line.trim().split(/ +/) as [method: string, template: string]);

const templated = operationList.filter(({ path }) => path.includes('{'));
const idNames = ({ path }: UpstreamOperation) =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
const withIds = (operation: UpstreamOperation, id: string) =>
  Object.fromEntries(idNames(operation).map((name) => [name, id]));

/** Parses a path as a server on the other side does, by the rules of URLs and not by ours. */
function routeOn(path: string): { method: string; template: string }[] {
  const { pathname } = new URL(path, 'http://platform.invalid');
  return documented
    .map(([method, template]) => ({ method, template }))
    .filter(({ template }) => {
      const pattern = template.replace(/\{\w+\}/g, '[^/]+');
      return new RegExp(`^${pattern}$`).test(pathname);
    });
}

function pathOrRefusal(operation: UpstreamOperation, ids: Record<string, string>): string | undefined {
  try {
    return upstreamPath(operation, { ids });
  } catch {
    return undefined;
  }
}

/** docs/faults.md K11, and relatives. */
const evilIds = [
  ...[
    '',
    '.',
    '..',
    '..;',
    '.;x',
    '..%2f../',
    '../..',
    '..\\',
    '\\',
    '/',
    '//x',
    '\t..',
    '.\r\n.',
    'a\n',
    '\na',
    'a\u0000',
  ],
  ...['a?b', 'a#b', '\u202e', '\u200b', '\ufeffa', '\ud800', 'a\u2028', 'a\u0085', '\ue000'],
  ...['x'.repeat(129), 'x'.repeat(100_000), '__proto__/..'],
];

/** Ids that no server can read as another path once they are encoded. */
const oddIds = [
  ...[
    '...',
    '...;',
    '.a',
    'a.',
    'a;b',
    'a b',
    'a+b',
    '%2e%2e',
    '%2E.',
    '..%2f..',
    '%00',
    '%',
    '%zz',
    '%252e',
  ],
  ...[
    'ａ',
    'é',
    '😀',
    '．．',
    'a,b',
    'a:b',
    '@',
    'anna@harbour',
    '~',
    '*',
    "'",
    '{enterpriseGlobalId}',
    'a=b&c',
  ],
  ...['x'.repeat(128), '😀'.repeat(128)],
];

it('knows the operations of the interface, in its order', () => {
  const prefixes = { order: '/order/api/order/v1', member: '/me/api/v1' };
  expect(operationList.map(({ method, module, path }) => [method, prefixes[module] + path])).toEqual(
    documented,
  );
  for (const own of Map.groupBy(operationList, ({ module }) => module).values())
    expect(own.map(({ number }) => number)).toEqual(own.map((_, index) => index + 1));
});

it('lets only reads be GET, so that nothing on the way repeats a write', () => {
  for (const { method, effect } of operationList) expect(effect === 'read').toBe(method === 'GET');
});

describe.each(templated)('the path of $name', (operation) => {
  it('carries its ids byte for byte', () => {
    const ids = Object.fromEntries(idNames(operation).map((name, index) => [name, `-${name}_${index}`]));
    const expected = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? '');
    expect(upstreamPath(operation, { ids })).toMatch(new RegExp(`/v1${expected}\\?$`));
    expect(upstreamPath(operation, { ids: withIds(operation, 'x'.repeat(64)) })).toContain('x'.repeat(64));
  });

  it.each(idNames(operation))('needs %s', (missing) => {
    const { [missing]: _, ...others } = withIds(operation, 'id');
    expect(() => upstreamPath(operation, { ids: others })).toThrow(missing);
    expect(() =>
      upstreamPath(operation, { ids: Object.create({ ...others, [missing]: 'id' }) as {} }),
    ).toThrow();
  });

  it('carries odd ids encoded once', () => {
    for (const id of oddIds) {
      const path = upstreamPath(operation, { ids: withIds(operation, id) });
      const { pathname } = new URL(path, 'http://platform.invalid');
      const segments = pathname.split('/').map(decodeURIComponent);
      expect([id, segments.filter((each) => each === id).length]).toEqual([id, idNames(operation).length]);
    }
  });

  it('refuses ids that mean something in a path, in every place', () => {
    for (const id of evilIds) {
      for (const name of idNames(operation)) {
        const ids = { ...withIds(operation, 'id'), [name]: id };
        expect({ id, path: pathOrRefusal(operation, ids) }).toEqual({ id, path: undefined });
      }
    }
  });
});

it('fails for an id that cannot be in a path as for an unusable response, and nothing is sent', () => {
  const failed = () => upstreamPath(operations.listAssetProducts, { ids: { assetId: 'ast/1' } });
  expect(failed).toThrow(expect.objectContaining({ kind: 'nonconforming', sent: false }));
});

it('S4 the path is one of its own template for every id, or there is none', () => {
  const nasty = fc.constantFrom(
    ...'./\\%?#;&=\t \u0000-_a0Zé\u202e\ufeff．／😀{}@:*',
    '%2e',
    '%2F',
    '%5c',
    '\r\n',
    '\ud800',
  );
  const id = fc.oneof(
    fc.array(nasty, { maxLength: 12 }).map((parts) => parts.join('')),
    fc.string({ unit: codePoint, maxLength: 80 }),
    fc.string({ unit: 'grapheme-ascii', maxLength: 80 }),
    fc.stringMatching(/^[A-Za-z0-9_-]{1,70}$/),
    fc.webPath(),
  );
  let built = 0;
  fc.assert(
    fc.property(fc.constantFrom(...templated), id, id, (operation, first, second) => {
      const [firstName = '', secondName] = idNames(operation);
      const ids = { [firstName]: first, ...(secondName && { [secondName]: second }) };
      const path = pathOrRefusal(operation, ids);
      if (path === undefined) return;
      built++;
      expect(routeOn(path)).toContainEqual(
        expect.objectContaining({ template: expect.stringContaining(operation.path) }),
      );
      const segments = path.split('?', 1)[0]?.split('/').map(decodeURIComponent);
      for (const each of Object.values(ids)) expect(segments).toContain(each);
    }),
    { numRuns: 3_000 },
  );
  // A property that only ever sees refusals would hold for a function that always throws.
  expect(built).toBeGreaterThan(50);
});

describe('the query', () => {
  it('is encoded, so that no value adds a parameter or leaves the query', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string({ minLength: 1 }),
          fc.string({ unit: codePoint }).map((text) => text.toWellFormed()),
        ),
        (query) => {
          const path = upstreamPath(operations.queryCustomers, { query });
          const { pathname, searchParams, hash } = new URL(path, 'http://platform.invalid');
          expect(pathname).toBe('/order/api/order/v1/enterprise/user/query');
          expect(hash).toBe('');
          expect(Object.fromEntries(searchParams)).toEqual({ ...query });
        },
      ),
    );
  });

  it('leaves out what is not there', () => {
    expect(upstreamPath(operations.queryCustomers, { query: { a: undefined, b: '' } })).toMatch(/query\?b=$/);
  });
});
