import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseRedisUrl } from './redis-url.ts';

describe('an address of Redis', () => {
  const nodes = (...at: [string, number][]) => ({ nodes: at.map(([host, port]) => ({ host, port })) });
  it.each([
    ['redis://h', { kind: 'single', tls: false, ...nodes(['h', 6379]), db: 0 }],
    ['redis://h:1/3', { ...nodes(['h', 1]), db: 3 }],
    ['redis://[::1]:7000/', { ...nodes(['::1', 7000]), db: 0 }],
    ['redis://:p%40ss@h', { password: 'p@ss', ...nodes(['h', 6379]) }],
    ['redis://user:a:b+c@h', { username: 'user', password: 'a:b+c' }],
    ['rediss://redis.example.com:6380/1', { kind: 'single', tls: true, db: 1 }],
    [
      'redis-sentinel://u:p@a,b:26380,[::1]/2?sentinelMasterId=main&sentinelUsername=s&sentinelPassword=x%26+y',
      {
        ...{ kind: 'sentinel', tls: false, username: 'u', password: 'p', db: 2 },
        ...nodes(['a', 26379], ['b', 26380], ['::1', 26379]),
        ...{ master: 'main', sentinelUsername: 's', sentinelPassword: 'x&+y' },
      },
    ],
    ['rediss+sentinel://a?sentinelMasterId=main', { kind: 'sentinel', tls: true, master: 'main' }],
    ['redis+sentinel://a/?sentinelMasterId=main', { kind: 'sentinel', db: 0 }],
    ['rediss-cluster://:p@a:7000,b', { kind: 'cluster', tls: true, ...nodes(['a', 7000], ['b', 6379]) }],
    ['redis+cluster://a/0', { kind: 'cluster', tls: false }],
  ])('%s', (text, address) => {
    expect(parseRedisUrl(text)).toMatchObject(address);
  });

  it('has no user and no password where none is given', () => {
    const address = parseRedisUrl('redis://h');
    expect(address && Object.keys(address)).toEqual(['kind', 'tls', 'nodes', 'db']);
  });

  const sentinel = 'redis-sentinel://h?sentinelMasterId=';
  it.each([
    ...['', 'h', 'http://h', 'redis://', 'redis:///1', 'REDIS://h', 'redis-proxy://h', ' redis://h'],
    ...['redis://h:0', 'redis://h:65536', 'redis://h:x', 'redis://h/one', 'redis://h/1/2', 'redis://h#1'],
    ...['redis://a,b', 'redis://a b', 'redis://user@h', 'redis://user:@h', 'redis://:@h', 'redis://:50%@h'],
    ...['redis://h?tls=off', 'redis-cluster://h?x=1', 'redis-cluster://h/1'],
    ...['redis-cluster://h,', 'redis-cluster://,h', 'redis-sentinel://h', 'redis-sentinel://h?name=main'],
    ...[sentinel, `${sentinel}a&sentinelMasterId=b`, `${sentinel}50%`, `${sentinel}a&__proto__=b`],
  ])('is not %j', (text) => {
    expect(parseRedisUrl(text)).toBeUndefined();
  });

  it('has any user and any password, percent-encoded', () => {
    const word = fc.string({ unit: 'grapheme', minLength: 1 });
    fc.assert(
      fc.property(word, word, (username, password) => {
        const userinfo = `${encodeURIComponent(username)}:${encodeURIComponent(password)}`;
        expect(parseRedisUrl(`redis://${userinfo}@h:1/2`)).toMatchObject({ username, password, db: 2 });
      }),
    );
  });
});
