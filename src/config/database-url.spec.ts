import { expect, it } from '@jest/globals';
import { newSecret } from '../../test/support/canary.ts';
import { settings } from '../../test/support/settings.ts';
import { parseDatabaseUrl } from './database-url.ts';

const password = newSecret('c');

it('Each form of the URL is read', () => {
  expect(parseDatabaseUrl('sqlite::memory:')).toEqual({ kind: 'memory' });
  expect(parseDatabaseUrl('sqlite:/var/lib/gateway.db')).toEqual({
    kind: 'file',
    path: '/var/lib/gateway.db',
  });
  expect(parseDatabaseUrl('sqlite:a b%20c%3F%25.db')).toEqual({ kind: 'file', path: 'a b c?%.db' });
  const several = parseDatabaseUrl(
    `postgres://us%40er:${password}%2F@db-1:6432,[::1]/orders?sslmode=verify-full`,
  );
  expect(several).toMatchObject({
    kind: 'postgres',
    hosts: [
      { host: 'db-1', port: 6_432 },
      { host: '::1', port: 5_432 },
    ],
    user: 'us@er',
    database: 'orders',
    sslMode: 'verify-full',
  });
  if (typeof several !== 'object' || several.kind !== 'postgres') throw new Error('no address');
  expect(several.password?.reveal()).toBe(`${password}/`);
  expect(parseDatabaseUrl('postgresql://user@localhost/orders')).toMatchObject({ sslMode: 'disable' });
});

it.each([
  ['mysql://db.example/orders', /^must be postgres:.*sqlite::memory:/],
  ['sqlite:', /^must name a file: sqlite:/],
  ['sqlite:/var/lib/gateway/', /^must name a file: sqlite:/],
  ['sqlite:/var/lib/gateway%2F', /^must name a file: sqlite:/],
  ['sqlite:file:/var/lib/gateway.db', /^must name a file: sqlite:/],
  ['sqlite:gateway.db?mode=ro', /^must name a file without parameters.*%3F/],
  ['sqlite:100%.db', /^must be postgres:.*percent-encoded/],
  ['sqlite:gateway%00.db', /^must be postgres:/],
  ['postgres://user:secret@db.example/?sslmode=verify-full', /^must name a database/],
  ['postgres://user:secret@db.example', /^must name a database|^would send/],
  ['postgres://db.example/orders?sslmode=verify-full', /^must name the user/],
  ['postgres://user:secret@db.example/orders', /^would send its password in the clear.*sslmode=verify-full/],
  [
    'postgres://user:secret@127.0.0.1,db.example/orders?sslmode=disable',
    /^would send its password in the clear/,
  ],
  ['postgres://user:secret@db.example/orders?sslmode=prefer', /^must have \?sslmode=verify-full/],
  [
    'postgres://user:secret@localhost/orders?sslmode=disable&options=x',
    /^must have \?sslmode=verify-full, and no other/,
  ],
  ['postgres://user:secret@db.example:99999/orders?sslmode=verify-full', /^must be postgres/],
  ['postgres://user:%zz@db.example/orders?sslmode=verify-full', /^must be postgres/],
])('One sentence says what is wrong with %s, and has no password', (url, sentence) => {
  const found = parseDatabaseUrl(url);
  const fault = typeof found === 'string' ? found : 'none';
  expect(fault).toMatch(sentence);
  expect(fault).not.toContain('secret');
  expect(() => settings({ DATABASE_URL: url })).toThrow(`DATABASE_URL ${fault}`);
});

it('A certificate that nobody checks, and an authority that checks none, are refused', () => {
  const url = `postgres://user:${password}@db.example/orders?sslmode=`;
  expect(() => settings({ DATABASE_URL: `${url}require` })).toThrow(
    /DATABASE_URL has sslmode=require, which checks no certificate: give sslmode=verify-full, or name the authority in DATABASE_CA_FILE/,
  );
  expect(() => settings({ DATABASE_CA_FILE: 'ca.pem' })).toThrow(
    /DATABASE_CA_FILE must go with a DATABASE_URL/,
  );
  expect(() => settings({ DATABASE_URL: `${url}verify-full`, DATABASE_CA_FILE: 'absent.pem' })).toThrow(
    /DATABASE_CA_FILE must be the path of a readable certificate in PEM/,
  );
  expect(() => settings({ DATABASE_POOL_MAX: '2' })).toThrow(
    /DATABASE_POOL_MAX must be a whole number from 3 to 100/,
  );
  expect(() => settings({ DATABASE_INIT: 'never' })).toThrow(/DATABASE_INIT must be one of auto, manual/);
});
