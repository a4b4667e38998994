import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { format, inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import * as z from 'zod';
import { makeCertificates } from '../../test/support/certificates.ts';
import { Sealer } from '../kit/sealed-store/sealed-store.ts';
import { type AppConfig, loadConfig, secretsOf } from './app-config.ts';
import { ConfigError } from './config-error.ts';
import { envExample } from '../../scripts/env-example.ts';
import { Secret } from './secret.ts';
import { variables } from './variables.ts';

type Environment = Record<string, string | undefined>;

const key = () => randomBytes(32).toString('base64');
const required = {
  UPSTREAM_BASE_URL: 'https://platform.example.com/base',
  UPSTREAM_TOKEN_URL: 'https://users.example.com/oauth/token',
  UPSTREAM_APP_KEY: randomBytes(8).toString('hex'),
  UPSTREAM_APP_SECRET: randomBytes(16).toString('hex'),
  CALLERS_FILE: '/etc/callers.json',
};

const load = (environment: Environment = {}): AppConfig => loadConfig({ ...required, ...environment });

function faultsOf(environment: Environment): readonly string[] {
  try {
    loadConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
}
const faultsWith = (environment: Environment) => faultsOf({ ...required, ...environment });

const sealed = ({ redis }: AppConfig) => new Sealer(redis.encryptionKeys).seal('text', 'place');
const opens = ({ redis }: AppConfig, value: string) =>
  new Sealer(redis.encryptionKeys).open(value, 'place') === 'text';

/** The words of a variable that takes nothing else. */
const words = (schema: z.ZodType): readonly string[] =>
  (z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }).enum ?? []).map(String);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'config-test-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function file(content: string): string {
  const path = join(folder, randomBytes(8).toString('hex'));
  writeFileSync(path, content);
  return path;
}

describe('the configuration', () => {
  it('takes for ESTATE_REFRESH a time of at least ten minutes, or off', () => {
    const refreshMs = (ESTATE_REFRESH?: string) => load({ ESTATE_REFRESH }).estate.refreshMs;
    expect([refreshMs(), refreshMs('off'), refreshMs('10m'), refreshMs('6h'), refreshMs('7d')]).toEqual([
      undefined,
      undefined,
      600_000,
      21_600_000,
      604_800_000,
    ]);
    for (const wrong of ['9m', '8d', '0h', '6', 'h', '6 h', '-6h', '1.5h', 'OFF', '6H'])
      expect(faultsWith({ ESTATE_REFRESH: wrong })).toEqual([
        'ESTATE_REFRESH must be off, or a time from 10m to 7d, such as 30m, 6h or 1d',
      ]);
  });

  it('takes whose JWTs are accepted as a whole or not at all, and keys over https or from this machine', () => {
    const trust = {
      JWT_ISSUER: 'https://issuer.example.com/',
      JWT_AUDIENCE: 'gateway',
      JWT_JWKS_URL: 'https://issuer.example.com/keys?tenant=1',
    };
    expect(load(trust).jwt.trust).toEqual({
      issuer: trust.JWT_ISSUER,
      audience: trust.JWT_AUDIENCE,
      jwksUrl: new URL(trust.JWT_JWKS_URL),
    });
    for (const name of Object.keys(trust)) {
      expect(faultsWith({ ...trust, [name]: undefined })).toEqual([
        'JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL must be set together',
      ]);
    }
    const keysAt = (JWT_JWKS_URL: string) => faultsWith({ ...trust, JWT_JWKS_URL });
    expect(keysAt('http://127.0.0.1:9/keys')).toEqual([]);
    expect(keysAt('http://issuer.example.com/keys')).toEqual([
      'JWT_JWKS_URL must be https, or a loopback address',
    ]);
    expect(keysAt('https://user:pass@issuer.example.com/keys')).toEqual([
      'JWT_JWKS_URL must be an http or https URL without credentials or fragment',
    ]);
  });

  it('takes variables into their parts', () => {
    const secondKey = key();
    const config = load({
      ...{ HOST: '::', PORT: '8080', MANAGEMENT_HOST: '0.0.0.0', MANAGEMENT_PORT: '0', DOCS: 'off' },
      PUBLIC_PATH: '/licensing/v2',
      ...{ UPSTREAM_ORDER_SCOPE: 'o', UPSTREAM_MEMBER_SCOPE: 'm', UPSTREAM_USER_SCOPE: 'u' },
      ...{
        UPSTREAM_DEADLINE_MS: '1',
        UPSTREAM_ORDER_DEADLINE_MS: '600000',
        UPSTREAM_CONNECT_TIMEOUT_MS: '250',
      },
      ...{ UPSTREAM_TOKEN_AUTH: 'body' },
      REDIS_URL: 'rediss://user:pass@redis.example.com:6380/1',
      ENCRYPTION_KEYS: `k1:${key()}, k_2-x:${secondKey}`,
    });
    expect(config).toMatchObject({
      listen: {
        ...{ host: '::', port: 8080, managementHost: '0.0.0.0', managementPort: 0, docs: false },
        publicPath: '/licensing/v2',
      },
      upstream: {
        ...{ tokenAuth: 'body', timestampUnit: 'ms', scopes: { order: 'o', member: 'm', user: 'u' } },
        ...{ deadlineMs: 1, orderDeadlineMs: 600_000, connectTimeoutMs: 250 },
      },
    });
    expect(config.redis.url?.reveal()).toBe('rediss://user:pass@redis.example.com:6380/1');
    expect(config.redis.encryptionKeys.map(({ kid }) => kid)).toEqual(['k1', 'k_2-x']);
    const second = load({ ENCRYPTION_KEYS: `k_2-x:${secondKey}` });
    expect(opens(config, sealed(second))).toBe(true);
    expect(opens(second, sealed(config))).toBe(false);
  });

  it('takes scopes with the characters that OAuth 2.0 allows only', () => {
    expect(load({ UPSTREAM_USER_SCOPE: ' a:b/c! ~d ' }).upstream.scopes.user).toBe('a:b/c! ~d');
    for (const value of ['a"b', 'a\\b', 'ü', 'a  b', 'a\tb'])
      for (const name of ['UPSTREAM_ORDER_SCOPE', 'UPSTREAM_MEMBER_SCOPE', 'UPSTREAM_USER_SCOPE'])
        expect(faultsWith({ [name]: value })).toEqual([
          expect.stringMatching(`^${name} must be words of printable ASCII`),
        ]);
  });

  it('takes an empty variable as absent, as an environment file means it, unless empty is a value', () => {
    const empty = Object.fromEntries(Object.keys(variables).map((name) => [name, '']));
    const { upstream, ...others } = load({ ...empty, ...required });
    const { upstream: plain, ...rest } = load();
    expect([others, { ...upstream, scopes: plain.scopes }]).toEqual([rest, plain]);
    expect(plain.scopes).toEqual({ order: 'auth_order', member: 'auth_me', user: undefined });
    expect(upstream.scopes).toEqual({ order: undefined, member: undefined, user: undefined });
    expect(load({ UPSTREAM_ORDER_SCOPE: ' ' }).upstream.scopes.order).toBeUndefined();
    expect(load().listen).toMatchObject({ host: '127.0.0.1', managementHost: '127.0.0.1', docs: true });
    expect(faultsOf(empty)).toHaveLength(Object.keys(required).length);
  });

  it('ignores what is not its own', () => {
    const foreign = { PATH: '/bin', HTTP_PROXY: 'http://evil.invalid', PORT_FILE: file('8080') };
    expect(load(foreign)).toEqual(load());
  });
});

it.each(Object.keys(required))('a missing %s is named, with what it is for', (name) => {
  expect(faultsWith({ [name]: undefined })).toEqual([
    expect.stringMatching(new RegExp(`^${name} is required: .{10,}`)),
  ]);
});

describe('a wrong variable', () => {
  const wrongUrls = ['x', 'ftp://a', 'https://', 'https://u:p@a', 'https://a?b', 'https://a#b'];
  const numbers = ['-1', '+5', '1.0', '1e3', '0x10', ' 5', '5 ', 'x', '１', '9'.repeat(400)];
  const sealingKeys = ['x', 'k1:', ':', `:${key()}`, key(), `k1:${key()},`, `k 1:${key()}`];
  const bytes = (count: number) => randomBytes(count).toString('base64');
  const wrong: Record<string, string[]> = {
    PORT: [...numbers, '65536'],
    LOG_LEVEL: ['INFO', 'verbose'],
    UPSTREAM_BASE_URL: wrongUrls,
    ALLOW_INSECURE_UPSTREAM: ['1', 'yes', 'TRUE'],
    UPSTREAM_DEADLINE_MS: ['0', '600001'],
    REDIS_URL: ['x', 'http://a', 'redis://', 'redis:'],
    ENCRYPTION_KEYS: [
      ...[...sealingKeys, `${'k'.repeat(33)}:${key()}`, `k1:${bytes(31)}`, `k1:${bytes(33)}`],
      `k1:${key()},k1:${key()}`,
      // The second key would be left out without a word.
      ...['\n', ';', ' '].map((separator) => `k1:${key()}${separator}k2:${key()}`),
      `k1:${key().slice(0, 20)}!${key().slice(20)}`,
    ],
    DOCS: ['true', 'ON'],
    PUBLIC_PATH: [
      'licensing',
      '/',
      '/licensing/',
      '/a//b',
      '/a/../b',
      '/v1',
      '/v1/x',
      '/docs',
      '/a b',
      'https://a/b',
    ],
  };

  it.each(Object.entries(wrong))(
    '%s is named, with what it should be, and never repeated',
    (name, values) => {
      for (const value of values) {
        const faults = faultsWith({ [name]: value });
        expect({ value, faults }).toEqual({
          value,
          faults: [expect.stringMatching(new RegExp(`^${name} must be `))],
        });
        if (value.length > 20) expect(faults.join()).not.toContain(value.slice(5, 25));
      }
    },
  );

  it('is never repeated, whichever it is', () => {
    const value = fc.stringMatching(/^[0-9a-f]{24}$/);
    const urls = ['redis://%', 'http://%:%@host', 'https://%?%', 'ftp://%'];
    const shape = fc.constantFrom('%', ...urls, 'k1:%', '%:%', '-%', '%,%', '%\n', '{"%":"%"}');
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(variables)), shape, value, (name, form, secret) => {
        const environment = { NODE_ENV: 'production', [name]: form.replaceAll('%', secret) };
        const all = [faultsWith(environment), faultsOf(environment)];
        for (const faults of all) expect(faults.join()).not.toContain(secret);
        const told = all.every((faults) => faults.some((fault) => fault.startsWith(name)));
        if (form === '%' && name in wrong) expect(told).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a secret in a file', () => {
  const good: Record<string, string> = {
    REDIS_URL: 'redis://:pass@localhost',
    ENCRYPTION_KEYS: `k1:${key()}`,
    UPSTREAM_APP_KEY: randomBytes(8).toString('hex'),
    UPSTREAM_APP_SECRET: randomBytes(8).toString('hex'),
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=${randomBytes(8).toString('hex')}`,
  };
  const withRedis = { REDIS_URL: good['REDIS_URL'], ENCRYPTION_KEYS: good['ENCRYPTION_KEYS'] };

  it.each(Object.keys(good))('%s is read from there, without its line break, and not given twice', (name) => {
    const { [name]: _, ...others } = { ...required, ...withRedis } as Environment;
    const inFile = `${name}_FILE`;
    const direct = loadConfig({ ...others, [name]: good[name] });
    const fromFile = loadConfig({ ...others, [inFile]: file(`${good[name]}\n`) });
    const revealed = ({ upstream, redis, tracing }: AppConfig) => [
      upstream.appKey.reveal(),
      upstream.appSecret.reveal(),
      redis.url?.reveal(),
      tracing.headers?.reveal(),
    ];
    expect(revealed(fromFile)).toEqual(revealed(direct));
    expect(opens(fromFile, sealed(direct))).toBe(true);

    const twice = { ...withRedis, [name]: good[name], [inFile]: file('x') };
    expect(faultsWith(twice)).toContain(`${name} and ${inFile} are both set: give one`);

    // The variable is named, not the path.
    const lost = { ...withRedis, [name]: undefined, [inFile]: join(folder, 'no such file') };
    const faults = faultsWith(lost);
    expect(faults[0]).toBe(`${inFile} must be the path of a readable file`);
    expect(faults.join()).not.toMatch(new RegExp(`no such file|${name} is required`));
  });

  it.each(Object.keys(good))(
    'P22 %s loses the blanks and line breaks around it, given directly too',
    (name) => {
      const all = { ...required, ...withRedis };
      const plain = loadConfig({ ...all, [name]: good[name] });
      for (const around of ['\r', '\r\n', ' ', '\t']) {
        const given = loadConfig({ ...all, [name]: `${good[name]}${around}` });
        expect(secretsOf(given).map((each) => [...each])).toEqual(secretsOf(plain).map((each) => [...each]));
        expect(opens(given, sealed(plain))).toBe(true);
      }
    },
  );

  it.each([
    ['with a line break within', () => `${good['UPSTREAM_APP_SECRET']}\nmore`],
    ['in UTF-16', () => Buffer.from(`\ufeff${good['UPSTREAM_APP_SECRET']}`, 'utf16le')],
  ])('P22 is refused by name %s', (_, content) => {
    const path = file('');
    writeFileSync(path, content());
    const faults = faultsWith({ UPSTREAM_APP_SECRET: undefined, UPSTREAM_APP_SECRET_FILE: path });
    expect(faults).toEqual(['UPSTREAM_APP_SECRET must not contain control characters; a file must be UTF-8']);
  });

  it.each(Object.keys(good))('%s is refused by name where its file is empty', (name) => {
    const inFile = `${name}_FILE`;
    expect(faultsWith({ ...withRedis, [name]: undefined, [inFile]: file('\n') })).toEqual([
      `${inFile} must be the path of a file that is not empty`,
    ]);
  });
});

describe('the way to the platform', () => {
  const insecure = (url: string, allow?: string) =>
    faultsWith({ UPSTREAM_BASE_URL: url, ALLOW_INSECURE_UPSTREAM: allow });

  it.each(['http://localhost:1', 'http://127.9.9.9:5/x', 'http://[::1]:5', 'http://127.1'])(
    'may be plain http within the machine: %s',
    (url) => expect(insecure(url)).toEqual([]),
  );

  it.each([
    ...['http://10.0.0.1', 'http://0.0.0.0', 'http://127.0.0.1.example.com', 'http://localhost.example.com'],
    ...['http://[::2]', 'http://[::ffff:10.0.0.1]'],
  ])('is https otherwise, unless that is allowed: %s', (url) => {
    expect(insecure(url, 'true')).toEqual([]);
    expect(insecure(url)).toEqual([expect.stringMatching(/^UPSTREAM_BASE_URL must be/)]);
    expect(insecure(url, 'false')).not.toEqual([]);
  });

  it('to the tokens is held to the same', () => {
    expect(faultsWith({ UPSTREAM_TOKEN_URL: 'http://users.example.com' })).toEqual([
      expect.stringMatching(/^UPSTREAM_TOKEN_URL must be https/),
    ]);
  });
});

describe('in production', () => {
  const production = {
    NODE_ENV: 'production',
    DATABASE_URL: 'sqlite:/var/lib/gateway/gateway.db',
    ENCRYPTION_KEYS: `k1:${key()}`,
  };

  it.each(['production ', 'production\r', 'Production', 'PRODUCTION', 'prod', 'staging', ' ', 'true'])(
    'P21 another word for it stops the start: %j',
    (word) => {
      expect(faultsWith({ ...production, NODE_ENV: word })).toEqual([
        'NODE_ENV must be one of production, development, test',
      ]);
    },
  );

  it('P21 every switch refuses an unknown word, and words with a blank or another case', () => {
    const switches = Object.entries(variables).filter(([, { schema }]) => words(schema).length > 0);
    expect(switches.map(([name]) => name).toSorted()).toEqual([
      ...['ALLOW_INSECURE_UPSTREAM', 'ALLOW_INSECURE_WEBHOOKS', 'DATABASE_INIT', 'DOCS', 'LOG_LEVEL'],
      ...['NODE_ENV', 'UPSTREAM_TOKEN_AUTH'],
    ]);
    for (const [name, { schema }] of switches)
      for (const word of words(schema))
        for (const other of [`${word} `, `${word}\r`, word.toUpperCase(), '1', 'yes'])
          expect([name, other, faultsWith({ [name]: other })]).toEqual([
            ...[name, other, [expect.stringMatching(new RegExp(`^${name} must be `))]],
          ]);
  });

  it('a database that outlives the process is required, and Redis beside a PostgreSQL', () => {
    expect(faultsWith({ NODE_ENV: 'production' })).toEqual([
      expect.stringMatching(
        /^DATABASE_URL is required in production: postgres:(?!.*memory).* sqlite:<path of a file>;/,
      ),
    ]);
    expect(faultsWith({ ...production, DATABASE_URL: 'sqlite::memory:' })).toEqual([
      expect.stringMatching(/^DATABASE_URL must not be sqlite::memory: in production.*name a file or a/),
    ]);
    const inFile = { DATABASE_URL: undefined, DATABASE_URL_FILE: file('sqlite::memory:') };
    expect(faultsWith({ ...production, ...inFile })).toEqual([
      expect.stringMatching(/^DATABASE_URL must not be sqlite::memory: in production/),
    ]);
    const shared = { ...production, DATABASE_URL: 'postgres://gateway@localhost/orders' };
    expect(faultsWith(shared)).toEqual([
      expect.stringMatching(/^REDIS_URL is required in production with a PostgreSQL/),
    ]);
    expect(load({ ...shared, REDIS_URL: 'redis://localhost' }).database.init).toBe('manual');
    expect(load({ ...production, DATABASE_INIT: 'auto' }).database.init).toBe('auto');
  });

  it('the documentation pages are off unless asked for', () => {
    expect(load(production).listen.docs).toBe(false);
    expect(load({ ...production, DOCS: 'on' }).listen.docs).toBe(true);
  });
});

it.each([
  { REDIS_URL: 'redis://localhost' },
  { DATABASE_URL: 'sqlite:gateway.db' },
  { DATABASE_URL: 'postgres://gateway@localhost/orders' },
])('encryption keys are required with what outlives the process: %j', (environment) => {
  expect(faultsWith(environment)).toEqual([
    expect.stringMatching(/^ENCRYPTION_KEYS is required with REDIS_URL, and with a DATABASE_URL other than/),
  ]);
  expect(faultsWith({ ...environment, ENCRYPTION_KEYS: `k1:${key()}` })).toEqual([]);
});

describe('the certificates for Redis', () => {
  const pemFile = (name: string) => join(folder, `${name}.pem`);
  const faultsOfTls = (environment: Environment) =>
    faultsWith({ REDIS_URL: 'rediss://localhost', ENCRYPTION_KEYS: `k1:${key()}`, ...environment });
  beforeAll(async () => {
    const { ca, good, untrusted } = await makeCertificates();
    const files = { ca, cert: good.cert, key: good.key, otherKey: untrusted.key, broken: 'no certificate' };
    for (const [name, pem] of Object.entries(files)) writeFileSync(pemFile(name), pem);
  });

  it('are read from their files', () => {
    const files = {
      REDIS_TLS_CA_FILE: pemFile('ca'),
      REDIS_TLS_CERT_FILE: pemFile('cert'),
      REDIS_TLS_KEY_FILE: pemFile('key'),
    };
    const { redis } = load({
      REDIS_URL: 'rediss://localhost',
      ENCRYPTION_KEYS: `k1:${key()}`,
      ...files,
    });
    expect(Object.keys(redis.certificates)).toEqual(['ca', 'cert', 'key']);
  });

  const pem = 'must be the path of a readable certificate in PEM';
  it.each([
    ['a file that is not there', `REDIS_TLS_CA_FILE ${pem}`, { CA: 'none' }],
    ['a file of something else', `REDIS_TLS_CERT_FILE ${pem}`, { CERT: 'broken', KEY: 'key' }],
    [
      'a certificate without its key',
      'REDIS_TLS_CERT_FILE and REDIS_TLS_KEY_FILE must be set together',
      { CERT: 'cert' },
    ],
    [
      'the key of another certificate',
      'REDIS_TLS_KEY_FILE must be the private key of REDIS_TLS_CERT_FILE',
      { CERT: 'cert', KEY: 'otherKey' },
    ],
  ])('are refused at the start: %s', (_, fault, files) => {
    const named = Object.entries(files).map(([name, pemOf]) => [`REDIS_TLS_${name}_FILE`, pemFile(pemOf)]);
    expect(faultsOfTls(Object.fromEntries(named) as Environment)).toEqual([fault]);
  });

  it('are refused where the URL has no TLS', () => {
    expect(faultsOfTls({ REDIS_URL: 'redis://localhost', REDIS_TLS_CA_FILE: pemFile('ca') })).toEqual([
      'REDIS_TLS_CA_FILE must go with a REDIS_URL that begins with rediss',
    ]);
  });
});

describe('the certificates of the public listener and for the platform', () => {
  const pemFile = (name: string) => join(folder, `own-${name}.pem`);
  const https = { UPSTREAM_TOKEN_URL: 'https://usercenter.example.com/token' };
  beforeAll(async () => {
    const { ca, good, untrusted } = await makeCertificates();
    const files = {
      ...{ ca, cert: good.cert, key: good.key, otherKey: untrusted.key },
      ...{ half: good.cert.slice(0, 200), bundle: ca + good.cert.slice(0, 200) },
    };
    for (const [name, pem] of Object.entries(files)) writeFileSync(pemFile(name), pem);
  });
  const named = (prefix: string, files: Record<string, string>) =>
    Object.fromEntries(Object.entries(files).map(([name, pem]) => [`${prefix}${name}_FILE`, pemFile(pem)]));

  it('are read at the start, and are none without the variables', () => {
    expect([load({}).listen.certificates, load({}).upstream.certificates]).toEqual([undefined, undefined]);
    const all = { ...named('TLS_', { CERT: 'cert', KEY: 'key', CLIENT_CA: 'ca' }), ...https };
    const { listen, upstream } = load({ ...all, ...named('UPSTREAM_TLS_', { CERT: 'cert', KEY: 'key' }) });
    expect(Object.keys(listen.certificates?.current ?? {})).toEqual(['ca', 'cert', 'key']);
    expect(Object.keys(upstream.certificates?.current ?? {})).toEqual(['cert', 'key']);
  });

  it.each(['TLS_', 'UPSTREAM_TLS_'])('are refused at the start where they are wrong: %s', (prefix) => {
    const faults = (files: Record<string, string>) => faultsWith({ ...https, ...named(prefix, files) });
    const [ofCert, ofKey] = [`${prefix}CERT_FILE`, `${prefix}KEY_FILE`];
    expect(faults({ CERT: 'cert', KEY: 'otherKey' })).toEqual([
      `${ofKey} must be the private key of ${ofCert}`,
    ]);
    expect(faults({ CERT: 'cert' })).toEqual([`${ofCert} and ${ofKey} must be set together`]);
    expect(faults({ KEY: 'key' })).toEqual([`${ofCert} and ${ofKey} must be set together`]);
    const ca = prefix === 'TLS_' ? 'CLIENT_CA' : 'CA';
    for (const [name, pem] of [
      ['CERT', 'half'],
      ['CERT', 'none'],
      [ca, 'bundle'],
    ] as const)
      expect(faults({ CERT: 'cert', KEY: 'key', [name]: pem })).toEqual([
        `${prefix}${name}_FILE must be the path of a readable certificate in PEM`,
      ]);
    expect(faults({ CERT: 'cert', KEY: 'cert' })).toEqual([
      `${ofKey} must be the path of a readable private key in PEM, without a passphrase`,
    ]);
  });

  it('are refused where there is no TLS to use them', () => {
    expect(faultsWith(named('TLS_', { CLIENT_CA: 'ca' }))).toEqual([
      'TLS_CLIENT_CA_FILE must go with TLS_CERT_FILE',
    ]);
    const plain = { UPSTREAM_BASE_URL: 'http://127.0.0.1:9', UPSTREAM_TOKEN_URL: 'http://127.0.0.1:9/token' };
    expect(faultsWith({ ...plain, ...named('UPSTREAM_TLS_', { CA: 'ca' }) })).toEqual([
      'UPSTREAM_TLS_CA_FILE must go with an UPSTREAM_BASE_URL or UPSTREAM_TOKEN_URL of https',
    ]);
    expect(faultsWith({ HOST: 'localhost', ...named('TLS_', { CERT: 'cert', KEY: 'key' }) })).toEqual([
      'HOST must be an address (127.0.0.1) with TLS_CERT_FILE',
    ]);
  });
});

describe('a secret', () => {
  const value = randomBytes(16).toString('hex');
  const secret = new Secret(value);

  it('is handed out on demand only', () => {
    expect(secret.reveal()).toBe(value);
    const shown = [
      ...[String(secret), secret + '', [secret].join(), JSON.stringify({ secret })],
      inspect({ a: [{ secret }] }, { depth: 9, showHidden: true, getters: true }),
      format('%s %o %O %j', secret, secret, secret, secret),
      ...[
        Object.entries(secret).join(),
        JSON.stringify({ ...secret }),
        JSON.stringify(structuredClone(secret)),
      ],
      inspect(new Error('x', { cause: secret })),
    ];
    for (const text of shown) expect(text).not.toContain(value);
    expect(String(secret)).toBe('[secret]');
  });
});

describe('the example file', () => {
  const lines = envExample().split('\n');
  const assignments = lines
    .filter((line) => /^#?[A-Z_]+=/.test(line))
    .map((line) => /^(#?)([A-Z_]+)=(.*)$/.exec(line) ?? [])
    .map(([, comment, name = '', value = '']) => ({ required: comment === '', name, value }));

  it('has every variable once, each under its meaning', () => {
    expect(assignments.map(({ name }) => name)).toEqual(Object.keys(variables));
    for (const { name } of assignments) {
      const above = lines[lines.findIndex((line) => line.replace('#', '').startsWith(`${name}=`)) - 1];
      expect(above).toMatch(/^# .{10,}\.$/);
    }
  });

  it('shows the defaults: setting them all changes nothing', () => {
    const shown = Object.fromEntries(assignments.map(({ name, value }) => [name, value]));
    expect(load({ ...shown, ...required })).toEqual(load());
  });
});
