import { expect, it } from '@jest/globals';
import { faultOfPostgres, faultOfVersion } from './postgres-faults.ts';

const withCode = (code: string) => Object.assign(new Error('as the server says'), { code });

it('A connection that breaks during a commit leaves its outcome open, and before it nothing was done', () => {
  for (const code of ['ECONNRESET', '57P01', '57P02', '08006', '']) {
    expect([code, faultOfPostgres(withCode(code), true).reason]).toEqual([code, 'unknown']);
    expect([code, faultOfPostgres(withCode(code), false).reason]).toEqual([code, 'away']);
  }
});

it('An error of the server during a commit means that nothing was done', () => {
  const reasons = [
    '40001',
    '40P01',
    '23505',
    '53100',
    '25006',
    '25P03',
    '42501',
    '22P02',
    '55P03',
    '57014',
  ].map((code) => [code, faultOfPostgres(withCode(code), true).reason]);
  expect(Object.fromEntries(reasons)).toEqual({
    '40001': 'conflict',
    '40P01': 'conflict',
    '23505': 'conflict',
    '53100': 'full',
    '25006': 'read-only',
    '25P03': 'away',
    '42501': 'rights',
    '22P02': 'broken',
    '55P03': 'away',
    '57014': 'away',
  });
});

it('PostgreSQL 14 is the oldest that is taken', () => {
  expect(faultOfVersion(14)).toBeUndefined();
  expect(faultOfVersion(13)?.message).toMatch(
    /^configuration: DATABASE_URL leads to PostgreSQL 13, and the gateway needs 14/,
  );
});
