import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RecordedLog } from '../../test/support/settings.ts';
import { ConfigError } from '../config/app-config.ts';
import { SettingsFileError } from '../config/settings-file.ts';
import { newApiKey } from './api-key.ts';
import { CallerRegistry } from './caller.registry.ts';
import { readCallersFile } from './callers-file.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'callers-test-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const entry = (over: object = {}) => ({ name: 'billing', scopes: ['orders:read'], ...over });
const withCallers = (...callers: object[]) => JSON.stringify({ callers });

function file(content: string | Buffer): string {
  const path = join(folder, randomBytes(8).toString('hex'));
  writeFileSync(path, content);
  return path;
}

function faultOf(content: string | Buffer): string {
  try {
    readCallersFile(file(content));
  } catch (error) {
    if (error instanceof SettingsFileError) return error.message.replace(/^names "[^"]*"[:,] /, '');
    throw error;
  }
  throw new Error('was accepted');
}

describe('a callers file', () => {
  it('says who may call, with what key, and what it may name', () => {
    const [one, two] = [newApiKey(), newApiKey()];
    const [caller] = readCallersFile(
      file(
        withCallers({
          name: 'billing',
          keys: [one.hash, two.hash],
          scopes: ['orders:read', 'orders:write'],
          enterprises: ['*'],
          channels: ['crm'],
          users: ['default'],
          appKey: 'own',
          rateLimit: { requests: 600, perSeconds: 60 },
        }),
      ),
    );
    expect(caller).toMatchObject({
      name: 'billing',
      appKey: 'own',
      rateLimit: { requests: 600, perSeconds: 60 },
    });
    expect([...(caller?.scopes ?? [])]).toEqual(['orders:read', 'orders:write']);
    expect([...(caller?.grants.enterprises ?? [])]).toEqual(['*']);
    expect([...(caller?.grants.channels ?? [])]).toEqual(['crm']);
    expect(caller?.keyHashes.map((hash) => hash.toString('hex'))).toEqual([one.hash, two.hash]);
  });

  it('grants nothing that it does not say', () => {
    const [caller] = readCallersFile(file(withCallers({ name: 'nobody', scopes: [] })));
    expect(caller?.scopes.size).toBe(0);
    expect(caller?.grants.enterprises.size).toBe(0);
    expect(caller?.grants.channels.size).toBe(0);
    expect(caller?.keyHashes).toEqual([]);
  });

  it('is what the example shows', () => {
    const callers = readCallersFile('config/callers.example.json');
    expect(callers.length).toBeGreaterThan(0);
    // Copied, it would go out with every order.
    for (const caller of callers) expect(caller.appKey).toBeUndefined();
  });

  it('may be empty of callers', () => {
    expect(readCallersFile(file('{"callers":[]}'))).toEqual([]);
  });

  const { hash } = newApiKey();
  it.each<[string, string | Buffer, RegExp]>([
    ['no JSON', '{"callers":[', /^line 1, column 13: the file is no JSON/],
    ['nothing', '', /^line 1, column 1: the file is no JSON/],
    ['bytes', Buffer.from([0xff, 0xfe]), /^the file is not UTF-8 text/],
    ['a list', '[]', /^the whole file: /],
    ['without callers', '{}', /^callers: /],
    ['with a misspelt top field', '{"callers":[],"caller":[]}', /^the whole file: /],
    ['with a caller without a name', withCallers({ scopes: [] }), /^callers\[0\]\.name: /],
    [
      'with a caller with a strange name',
      withCallers(entry({ name: 'a b' })),
      /^callers\[0\]\.name: must be 1 to 64 of/,
    ],
    ['with a caller without scopes', withCallers({ name: 'a' }), /^callers\[0\]\.scopes of "\w+": /],
    [
      'with an unknown scope',
      withCallers(entry(), entry({ name: 'b', scopes: ['orders:all'] })),
      /^callers\[1\]\.scopes\[0\] of "[\w]+": must be one of orders:read,/,
    ],
    ['with a misspelt field', withCallers(entry({ enterprise: ['*'] })), /^callers\[0\] of "billing": /],
    [
      'with a key instead of its hash',
      withCallers(entry({ keys: [newApiKey().key] })),
      /^callers\[0\]\.keys\[0\] of "[\w]+": must be the SHA-256/,
    ],
    [
      'with a hash in upper case',
      withCallers(entry({ keys: [`A${hash.slice(1).toUpperCase()}`] })),
      /^callers\[0\]\.keys\[0\] of "[\w]+": must be the SHA-256/,
    ],
    [
      'with three keys for one',
      withCallers(entry({ keys: [newApiKey().hash, newApiKey().hash, newApiKey().hash] })),
      /^callers\[0\]\.keys of "\w+": must be at most two keys/,
    ],
    ['with a word for a list', withCallers(entry({ channels: '*' })), /^callers\[0\]\.channels of "\w+": /],
    [
      'with an empty id',
      withCallers(entry({ enterprises: [''] })),
      /^callers\[0\]\.enterprises\[0\] of "[\w]+": /,
    ],
    [
      'with a senseless limit',
      withCallers(entry({ rateLimit: { requests: 0, perSeconds: 1 } })),
      /^callers\[0\]\.rateLimit\.requests of "billing": /,
    ],
    [
      'with a limit for more than a day',
      withCallers(entry({ rateLimit: { requests: 1, perSeconds: 86_401 } })),
      /^callers\[0\]\.rateLimit\.perSeconds of "billing": /,
    ],
    [
      'with one name for two',
      withCallers(entry(), entry()),
      /^callers\[1\] of "billing" has the name of callers\[0\]: every name must/,
    ],
    [
      'with one key for two',
      withCallers(entry({ keys: [hash] }), entry({ name: 'b', keys: [hash] })),
      /^callers\[1\] of "b" has the key of callers\[0\]: every key must be used once/,
    ],
    [
      'with one key twice',
      withCallers(entry({ keys: [hash, hash] })),
      /has the key of callers\[0\]: every key must/,
    ],
  ])('is refused with the place and the rule: %s', (_, content, message) => {
    expect(faultOf(content)).toMatch(message);
  });

  it('names every fault at once', () => {
    const fault = faultOf(withCallers(entry({ name: '' }), entry({ scopes: ['x'] })));
    expect(fault).toMatch(/callers\[0\]\.name: .*; callers\[1\]\.scopes\[0\] of "billing": /);
  });

  it('that is not there is refused', () => {
    expect(() => readCallersFile(join(folder, 'none'))).toThrow(SettingsFileError);
    expect(() => readCallersFile(folder)).toThrow(SettingsFileError);
  });

  it('is refused without repeating a value', () => {
    const secret = randomBytes(16).toString('hex');
    const spot = fc.constantFrom(
      'name',
      'keys',
      'scopes',
      'enterprises',
      'channels',
      'users',
      'appKey',
      'rateLimit',
    );
    const value = fc.constantFrom<unknown>(
      ...[secret, [secret, 5], { [`_`]: secret }, [[secret]], [secret, secret, `${secret} `], `${secret} `],
    );
    fc.assert(
      fc.property(spot, value, (name, wrong) => {
        const path = file(withCallers(entry({ name: 'x y', [name]: wrong })));
        let message = '';
        try {
          readCallersFile(path);
        } catch (error) {
          message = String(error);
        }
        expect(message).not.toContain(secret);
        expect(message === '').toBe(name === 'name' && wrong === secret);
      }),
    );
  });
});

describe('a new API key', () => {
  it('has 256 random bits, and is known by its SHA-256 alone', () => {
    const { key, hash } = newApiKey();
    expect(Buffer.from(key.replace(/^lgw_/, ''), 'base64url')).toHaveLength(32);
    expect(hash).toBe(createHash('sha256').update(key).digest('hex'));
    expect(newApiKey().key).not.toBe(key);
  });
});

describe('the registry', () => {
  const started: CallerRegistry[] = [];
  afterEach(() => {
    for (const each of started.splice(0)) each.onApplicationShutdown();
  });

  async function registryOf(path: string) {
    const recorded = new RecordedLog();
    const registry = new CallerRegistry({ file: path }, recorded.log);
    started.push(registry);
    registry.onModuleInit();
    return { registry, recorded };
  }

  it('finds a caller by each of its keys, and no caller by another text', async () => {
    const [one, two, other] = [newApiKey(), newApiKey(), newApiKey()];
    const path = file(
      withCallers(
        entry({ keys: [one.hash, two.hash] }),
        entry({ name: 'crm', keys: [other.hash] }),
        entry({ name: 'none' }),
      ),
    );
    const { registry } = await registryOf(path);
    expect(registry.byKey(one.key)?.name).toBe('billing');
    expect(registry.byKey(two.key)?.name).toBe('billing');
    expect(registry.byKey(other.key)?.name).toBe('crm');
    expect(['billing', 'crm', 'none'].map((name) => registry.byName(name)?.name)).toEqual([
      'billing',
      'crm',
      'none',
    ]);
    expect(registry.byName('constructor')).toBeUndefined();
    for (const wrong of [
      '',
      one.hash,
      `${one.key} `,
      one.key.slice(0, -1),
      one.key.toUpperCase(),
      newApiKey().key,
    ]) {
      expect(registry.byKey(wrong)).toBeUndefined();
    }
  });

  it.each([
    ['there', undefined],
    ['right', withCallers(entry({ scopes: ['all'] }))],
  ])('stops the start with the name of the variable where the file is not %s', (_, content) => {
    const path = content === undefined ? join(folder, 'none') : file(content);
    const registry = new CallerRegistry({ file: path }, new RecordedLog().log);
    expect(() => registry.onModuleInit()).toThrow(ConfigError);
    expect(() => registry.onModuleInit()).toThrow(/CALLERS_FILE /);
  });

  it('takes a change over, keeps the last good one when the file breaks or vanishes, and recovers', async () => {
    const [old, renewed, last] = [newApiKey(), newApiKey(), newApiKey()];
    const path = file(withCallers(entry({ keys: [old.hash] })));
    const { registry, recorded } = await registryOf(path);
    const change = async (event: string, act: () => void) => {
      const told = recorded.next(event);
      act();
      return told;
    };

    // Replaced by renaming, as deployments do.
    const replacement = file(withCallers(entry({ keys: [renewed.hash] }), entry({ name: 'crm' })));
    expect(await change('callers-reloaded', () => renameSync(replacement, path))).toMatchObject({
      callers: 2,
    });
    expect(registry.byKey(old.key)).toBeUndefined();
    expect(registry.byKey(renewed.key)?.name).toBe('billing');

    const secret = randomBytes(16).toString('hex');
    const broken = withCallers(entry({ keys: [secret] }));
    expect(await change('callers-rejected', () => writeFileSync(path, broken))).toMatchObject({
      level: 'error',
      reason: expect.stringMatching(/callers\[0\]\.keys\[0\] of "billing": must be the SHA-256/),
    });
    expect(recorded.text).not.toContain(secret);
    expect(registry.byKey(renewed.key)?.name).toBe('billing');

    await change('callers-rejected', () => rmSync(path));
    expect(registry.byKey(renewed.key)?.name).toBe('billing');

    await change('callers-reloaded', () => writeFileSync(path, withCallers(entry({ keys: [last.hash] }))));
    expect(registry.byKey(renewed.key)).toBeUndefined();
    expect(registry.byKey(last.key)?.name).toBe('billing');
  });
});
