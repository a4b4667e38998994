import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Maintenance } from '../maintenance/state/maintenance.ts';
import { RecordedLog } from '../../test/support/settings.ts';
import { ConfigError } from '../config/config-error.ts';
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

function file(content: string): string {
  const path = join(folder, randomBytes(8).toString('hex'));
  writeFileSync(path, content);
  return path;
}

function faultOf(content: string): string {
  try {
    readCallersFile(file(content));
  } catch (error) {
    if (error instanceof SettingsFileError)
      return error.message.replace('must be the path of a usable file: ', '');
    throw error;
  }
  throw new Error('was accepted');
}

describe('a callers file', () => {
  it('grants nothing that it does not say', () => {
    const [nobody] = readCallersFile(file(withCallers({ name: 'nobody', scopes: [] })));
    const { enterprises, channels, users } = nobody?.grants ?? {};
    expect([enterprises?.size, channels?.size, users?.size, nobody?.keyHashes]).toEqual([0, 0, 0, []]);
  });

  it('may name certificates in place of keys', () => {
    const certificates = [
      ...['spiffe://cluster.example/ns/shop/sa/billing', 'urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6'],
      ...['DNS:billing.internal', 'DNS:billing', `sha256:${'0a'.repeat(32)}`],
    ];
    const [billing] = readCallersFile(file(withCallers(entry({ certificates, keys: [] }))));
    expect([billing?.certificates, billing?.keyHashes]).toEqual([certificates, []]);
  });

  it('is what the example shows', () => {
    const callers = readCallersFile('config/callers.example.json');
    expect(callers.length).toBeGreaterThan(0);
    // An app key in the example would be copied, and then sent with every order.
    for (const caller of callers) expect(caller.appKey).toBeUndefined();
  });

  const { hash } = newApiKey();
  const refused = (...callers: object[]) => withCallers(...callers.map((each) => entry(each)));
  const HASH = /^callers\[0\]\.keys\[0\] of "billing": must be the SHA-256/;
  function notNamed(name: unknown): [string, string, RegExp] {
    const place = /^callers\[0\]\.certificates\[1\] of "billing": /;
    return [`with the certificate ${String(name)}`, refused({ certificates: ['DNS:a.b', name] }), place];
  }
  it.each<[string, string, RegExp]>([
    ['without callers', '{}', /^callers: /],
    ['with a misspelt top field', '{"callers":[],"caller":[]}', /^the whole file: /],
    ['with a strange name', refused({ name: 'a b' }), /^callers\[0\]\.name: must be 1 to 128 of/],
    ['without scopes', withCallers({ name: 'a' }), /^callers\[0\]\.scopes of "a": /],
    [
      'with an unknown scope, and another fault',
      refused({ name: '' }, { name: 'b', scopes: ['orders:all'] }),
      /^callers\[0\]\.name: .*; callers\[1\]\.scopes\[0\] of "b": must be one of orders:read,/,
    ],
    ['with a misspelt field', refused({ enterprise: ['*'] }), /^callers\[0\] of "billing": /],
    ['with a key for its hash', refused({ keys: [newApiKey().key] }), HASH],
    ['with a hash in capitals', refused({ keys: [`A${hash.slice(1).toUpperCase()}`] }), HASH],
    [
      'with three keys',
      refused({ keys: [hash, hash, hash] }),
      /^callers\[0\]\.keys of "billing": must be at most two/,
    ],
    ['with an empty id', refused({ enterprises: [''] }), /^callers\[0\]\.enterprises\[0\] of "billing": /],
    [
      'with a senseless limit',
      refused({ rateLimit: { requests: 0, perSeconds: 1 } }),
      /rateLimit\.requests of /,
    ],
    [
      'with a limit for two days',
      refused({ rateLimit: { requests: 1, perSeconds: 86_401 } }),
      /\.perSeconds of /,
    ],
    [
      'with one name for two',
      refused({}, {}),
      /^callers\[1\] of "billing" has the name of callers\[0\]: every name/,
    ],
    [
      'with one key for two',
      refused({ keys: [hash] }, { name: 'b', keys: [hash] }),
      /^callers\[1\] of "b" has the key of callers\[0\]: every key must be used once/,
    ],
    ...['billing.internal', 'dns:billing.internal', 'DNS:Billing.internal', 'DNS:*.internal', 'DNS:'].map(
      notNamed,
    ),
    ...[`sha256:${hash.toUpperCase()}`, 'sha256:00', `SHA256:${hash}`, hash, 'CN=billing'].map(notNamed),
    ...['spiffe://a b', 'spiffe://a,URI:spiffe://b', 'spiffe://', 'spiffe:a', '', 7].map(notNamed),
    [
      'with one certificate for two',
      refused({ certificates: ['DNS:a.b'] }, { name: 'b', certificates: [`sha256:${hash}`, 'DNS:a.b'] }),
      /^callers\[1\] of "b" has the certificate of callers\[0\]: every certificate must be used once/,
    ],
  ])('is refused with the place and the rule: %s', (_, content, message) => {
    expect(faultOf(content)).toMatch(message);
  });

  it('is refused without repeating a value', () => {
    const secret = randomBytes(16).toString('hex');
    const spots = [
      'name',
      'keys',
      'certificates',
      'scopes',
      'enterprises',
      'channels',
      'users',
      'appKey',
      'rateLimit',
      'budgets',
    ];
    const value = fc.constantFrom<unknown>(
      ...[secret, [secret, 5], { [`_`]: secret }, [[secret]], [secret, secret, `${secret} `], `${secret} `],
    );
    fc.assert(
      fc.property(fc.constantFrom(...spots), value, (name, wrong) => {
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
  const started: RecordedLog[] = [];
  afterEach(() => {
    for (const each of started.splice(0)) each.files.onApplicationShutdown();
  });

  async function registryOf(path: string) {
    const recorded = new RecordedLog();
    const registry = new CallerRegistry({ file: path }, recorded.files, new Maintenance());
    started.push(recorded);
    registry.onModuleInit();
    return { registry, recorded };
  }

  it('stops the start with the name of the variable where the file is not there or breaks a rule', () => {
    for (const path of [join(folder, 'none'), file(withCallers(entry({ scopes: ['all'] })))]) {
      const registry = new CallerRegistry({ file: path }, new RecordedLog().files, new Maintenance());
      expect(() => registry.onModuleInit()).toThrow(ConfigError);
      expect(() => registry.onModuleInit()).toThrow(/CALLERS_FILE /);
    }
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

    // The file is replaced by renaming, as deployments do.
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

  it('says what a caller may do now and could do before, also of one that a token gave its scopes', async () => {
    const made = Date.now() - 1;
    const path = file(withCallers(entry({ enterprises: ['a'] }), entry({ name: 'other' })));
    const { registry, recorded } = await registryOf(path);
    const change = async (...callers: object[]) => {
      const told = recorded.next('callers-reloaded');
      writeFileSync(path, withCallers(...callers));
      await told;
    };
    const work = { caller: 'billing', scope: 'orders:read', byToken: false } as const;
    const enterprises = () => {
      const { grants, former } = registry.standingOf(work) ?? {};
      return {
        now: grants && [...grants.enterprises],
        before: former && [...(former.grants?.enterprises ?? [])],
      };
    };
    expect(enterprises()).toEqual({ now: ['a'], before: undefined });
    expect(registry.hasLost(work, made)).toBe(false);
    // A change of another caller does not affect this one.
    await change(entry({ enterprises: ['a'], keys: [newApiKey().hash] }), entry({ name: 'new' }));
    expect(enterprises()).toEqual({ now: ['a'], before: undefined });
    await change(entry({ enterprises: ['a', 'b'] }));
    expect(enterprises()).toEqual({ now: ['a', 'b'], before: ['a'] });
    await change(entry({ enterprises: ['a', 'b'], scopes: [] }));
    expect(enterprises()).toEqual({ now: undefined, before: undefined });
    expect(registry.standingOf({ ...work, byToken: true })).toBeDefined();
    expect(registry.hasLost(work, made)).toBe(true);
    // This replica may read the file later than the replica that made the work.
    expect(registry.hasLost(work, Date.now() + 1)).toBe(false);
    await change();
    expect(registry.standingOf({ ...work, byToken: true })).toBeUndefined();
    await change(entry({ enterprises: ['a'] }));
    expect(enterprises()).toEqual({ now: ['a'], before: [] });
  });
});
