import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { environmentName } from '../../src/redis/key-names.ts';
import { COMMANDS, prefixesOf, refusalsOf } from '../../src/redis/rights.ts';
import { containersOf, kustomize } from '../deploy/kustomize.ts';
import { newEncryptionKey } from '../support/canary.ts';
import { makeCertificates } from '../support/certificates.ts';
import { endings } from '../support/endings.ts';
import { startInProcess } from '../support/gateway-in-process.ts';
import { TestGateway } from '../support/gateway.ts';
import { onceServed } from '../support/once-served.ts';
import { orderOf } from '../support/order-body.ts';
import { ask, freePort, type RunningRedis, startCluster, startRedis, until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';
import { credential, type LogLine, settings } from '../support/settings.ts';

/** What Redis requires of the gateway before it serves: a password, a certificate, rights. */

const ENCRYPTION_KEYS = newEncryptionKey();

const sandbox = useSandbox();
const { atEnd, ended } = endings();

beforeEach(() => sandbox.reset({ tokens: true }));

const newRedis = async (...args: string[]) => ended(await startRedis(args));
const gatewayAt = async (REDIS_URL: string, environment: Record<string, string> = {}) =>
  ended(await startInProcess(sandbox, { REDIS_URL, ENCRYPTION_KEYS, ...environment }));
/** Starts the gateway as it is shipped, for what Node or a library does by itself. */
const shippedAt = async (REDIS_URL: string, environment: Record<string, string> = {}) =>
  ended(await TestGateway.start(sandbox, { REDIS_URL, ENCRYPTION_KEYS, ...environment }));
const lines = (gateway: TestGateway, event: string) =>
  gateway.logLines.map((line) => JSON.parse(line) as LogLine).filter((line) => line.event === event);
const ready = async (gateway: TestGateway) => (await gateway.get('/health/ready')).body;
const is = (gateway: TestGateway, part: 'redis', state: string) =>
  until(`${part} is ${state}`, async () => (await ready(gateway))[part] === state);
/** An address of this machine that is no loopback address, because such a one is no stranger for Redis. */
function addressFromOutside(): string {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const address = all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
  if (address === undefined) throw new Error('This test needs a network interface besides the loopback one');
  return address;
}
const place = (gateway: TestGateway, number: string) => gateway.post('/v1/license-orders', orderOf(number));

describe('R7 Redis refuses the connection', () => {
  it('by its password: one line in its words, and orders go on', async () => {
    const password = credential();
    const redis = await newRedis('--requirepass', password);
    const gateway = await gatewayAt(redis.url.replace('//', `//:not-${password}@`));
    const said = () => lines(gateway, 'redis-away').map((line) => String(line['said']).split(' ')[0]);
    await until('it is said', () => said().includes('WRONGPASS'));
    expect(await ready(gateway)).toMatchObject({ redis: 'down', orders: 'up' });
    expect((await onceServed(() => place(gateway, 'SO-refused'))).status).toBe(201);
    await redis.stop();
    await newRedis('--port', String(redis.port));
    await is(gateway, 'redis', 'up');
    // No further reason is one of Redis' own while no server is there.
    expect(said()).toEqual(['WRONGPASS']);
    expect(gateway.logLines.join()).not.toContain(password);
  });

  it('by its protected mode: each line of the output is JSON, and one has the words', async () => {
    const password = credential();
    const redis = await newRedis('--bind', '*', '--protected-mode', 'yes');
    const gateway = await shippedAt(`redis://:${password}@${addressFromOutside()}:${redis.port}`);
    // Each line is JSON, or this throws.
    const away = () => lines(gateway, 'redis-away').filter(({ said }) => said !== undefined);
    await until('it is said', () => away().length > 0);
    expect(await ready(gateway)).toMatchObject({ redis: 'down' });
    await until('the client has connected again several times', async () => {
      const metrics = await gateway.metrics();
      return Number(/^gateway_redis_errors_total\{reason="denied"\} (\d+)/m.exec(metrics)?.[1]) >= 4;
    });
    expect(away().map(({ said }) => said)).toEqual(['DENIED Redis is running in protected mode']);
    expect(gateway.logLines.join()).not.toContain(password);
  });
});

it('R19 Redis requires a client certificate: the gateway shows it; without the right one it says what is missing', async () => {
  const { ca, good, untrusted } = await makeCertificates();
  const folder = mkdtempSync(join(tmpdir(), 'redis-tls-'));
  atEnd(() => rmSync(folder, { recursive: true }));
  const files = { ca, cert: good.cert, key: good.key, otherCert: untrusted.cert, otherKey: untrusted.key };
  for (const [name, pem] of Object.entries(files)) writeFileSync(join(folder, `${name}.pem`), pem);
  const file = (name: keyof typeof files) => join(folder, `${name}.pem`);
  const port = String(await freePort());
  await newRedis(
    ...['--tls-port', port, '--tls-auth-clients', 'yes', '--tls-ca-cert-file', file('ca')],
    ...['--tls-cert-file', file('cert'), '--tls-key-file', file('key')],
  );
  const url = `rediss://localhost:${port}`;
  const own = { REDIS_TLS_CERT_FILE: file('cert'), REDIS_TLS_KEY_FILE: file('key') };
  const gateway = await gatewayAt(url, { REDIS_TLS_CA_FILE: file('ca'), ...own });
  await is(gateway, 'redis', 'up');

  // This gateway has the authority among those that Node trusts.
  const trusting = await shippedAt(url, { ...own, NODE_EXTRA_CA_CERTS: file('ca') });
  await is(trusting, 'redis', 'up');

  const ofAuthority = { REDIS_TLS_CA_FILE: file('ca') };
  const strangers: Record<string, string>[] = [
    ofAuthority,
    // This gateway does not know the authority of the server.
    own,
    { ...ofAuthority, REDIS_TLS_CERT_FILE: file('otherCert'), REDIS_TLS_KEY_FILE: file('otherKey') },
  ];
  for (const others of strangers) {
    const refused = await gatewayAt(url, others);
    await until('it is said', () =>
      lines(refused, 'redis-away').some(({ said }) =>
        /^ERR_SSL|SELF_SIGNED|ISSUER|VERIFY/.test(String(said)),
      ),
    );
    expect(await ready(refused)).toMatchObject({ redis: 'down' });
  }
});

describe('R18 the user of Redis lacks a right', () => {
  /** A user as docs/operating.md makes it, with a password of this run that an address has to encode. */
  async function grantedAt(url: string, servers: readonly RunningRedis[]) {
    const password = `${credential()}:@/%?#+é`;
    const [, line = ''] = /^ACL SETUSER (.*)$/m.exec(readFileSync('docs/operating.md', 'utf8')) ?? [];
    const user = line.replace('PASSWORD', password).split(' ');
    await Promise.all(servers.map((each) => ask(each, (client) => client.call('ACL', 'SETUSER', ...user))));
    const [name = ''] = user;
    return { name, url: url.replace('//', `//${name}:${encodeURIComponent(password)}@`) };
  }
  async function granted() {
    const redis = await newRedis();
    return { redis, ...(await grantedAt(redis.url, [redis])) };
  }
  const change = (redis: RunningRedis, ...rules: string[]) =>
    ask(redis, (client) => client.call('ACL', 'SETUSER', ...rules));
  const logIn = (gateway: TestGateway) =>
    gateway.post('/v1/sessions', { username: 'anna@harbour', password: sandbox.seedPassword });

  it('what the manual grants is enough: Redis denies nothing', async () => {
    const { redis, url } = await granted();
    const gateway = await gatewayAt(url);
    await is(gateway, 'redis', 'up');
    await until('a session opens', async () => (await logIn(gateway)).status === 201);
    expect((await gateway.get('/v1/enterprises/ent-harbour/assets')).status).toBe(200);
    expect((await onceServed(() => place(gateway, 'SO-granted'))).status).toBe(201);
    expect(await ask(redis, (client) => client.call('ACL', 'LOG'))).toEqual([]);
    const prefixes = prefixesOf(environmentName(new URL(sandbox.url)));
    const keys = await ask(redis, (client) => client.keys('*'));
    expect(keys).not.toEqual([]);
    expect(keys.filter((key) => !prefixes.some((each) => key.startsWith(each)))).toEqual([]);
  });

  /** The Redis of an overlay of Kubernetes, with this file of users, and its address for other machines. */
  async function redisOf(overlay: string, users: string): Promise<string> {
    const folder = mkdtempSync(join(tmpdir(), 'redis-users-'));
    atEnd(() => rmSync(folder, { recursive: true, force: true }));
    const [file, data] = [join(folder, 'users.acl'), join(folder, 'data')];
    writeFileSync(file, users);
    mkdirSync(data);
    const redis = kustomize(`deploy/kubernetes/overlays/${overlay}`).find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'redis',
    );
    const [container] = redis ? containersOf(redis) : [];
    const places = new Map([
      ['/data', data],
      ['/run/secrets/redis/users.acl', file],
    ]);
    const args = container?.['args'] as string[];
    const { port } = await newRedis(...args.map((each) => places.get(each) ?? each));
    return `redis://${addressFromOutside()}:${port}`;
  }

  it('the file of users for Kubernetes grants the same, and lets nobody in without the password', async () => {
    const manual = readFileSync('docs/operating.md', 'utf8');
    const [, grants = ''] = /^ACL SETUSER (.*)$/m.exec(manual) ?? [];
    const [block = ''] = /(?<=^ *```\n)( *user .*\n)+/m.exec(manual) ?? [];
    const users = block.trim().split(/\n */);
    expect(users).toEqual(['user default off', `user ${grants}`]);
    const password = credential();
    const url = await redisOf('production', users.join('\n').replace('PASSWORD', password));
    const gateway = await gatewayAt(url.replace('//', `//gateway:${password}@`));
    await is(gateway, 'redis', 'up');
    const stranger = new Redis(url, { lazyConnect: true, retryStrategy: null });
    stranger.on('error', () => undefined);
    await expect(stranger.get('a')).rejects.toThrow('NOAUTH');
    stranger.disconnect();
  });

  it('the trial in Kubernetes lets its gateway in without a password', async () => {
    const secret = kustomize('deploy/kubernetes/overlays/sandbox').find(
      ({ kind, metadata }) => kind === 'Secret' && metadata.name === 'redis',
    );
    const texts = secret?.['stringData'] as Record<string, string> | undefined;
    const gateway = await gatewayAt(await redisOf('sandbox', texts?.['users.acl'] ?? ''));
    await until('a session opens', async () => (await logIn(gateway)).status === 201);
    expect(await ready(gateway)).toMatchObject({ redis: 'up' });
  });

  it('what the manual grants is enough on a cluster', async () => {
    const cluster = await startCluster();
    atEnd(() => cluster.stop());
    const { url } = await grantedAt(cluster.url, cluster.nodes);
    const gateway = await gatewayAt(url);
    await is(gateway, 'redis', 'up');
    await until('a session opens', async () => (await logIn(gateway)).status === 201);
    for (const node of cluster.nodes)
      expect(await ask(node, (client) => client.call('ACL', 'LOG'))).toEqual([]);
  });

  it('each right that is taken away is named', async () => {
    const { redis, name, url } = await granted();
    const environment = environmentName(settings().upstream.baseUrl);
    const prefixes = prefixesOf(environment);
    const client = new Redis(url);
    atEnd(() => client.disconnect());
    const missing = async () => (await refusalsOf(client, environment)).missing;
    expect(await refusalsOf(client, environment)).toEqual({ missing: [] });
    for (const command of [...COMMANDS, 'multi']) {
      const right = command.split(' ')[0] as string;
      await change(redis, name, `-${right}`);
      expect(await missing()).toEqual([`+${right}`]);
      await change(redis, name, `+${right}`);
    }
    for (const prefix of prefixes) {
      const others = prefixes.filter((other) => other !== prefix).map((other) => `~${other}*`);
      await change(redis, name, 'resetkeys', ...others);
      expect(await missing()).toEqual([`~${prefix}*`]);
    }
    await change(redis, name, '~*');
    expect(await client.dbsize()).toBe(0);
  });

  it('each command of a script is among the rights that are checked', () => {
    const checked = COMMANDS.map((command) => command.split(' ')[0]?.toUpperCase());
    const used = readdirSync('src', { recursive: true, encoding: 'utf8' })
      .filter((file) => /(?<!\.spec)\.ts$/.test(file))
      .flatMap((file) => [...readFileSync(join('src', file), 'utf8').matchAll(/redis\.p?call\('([A-Z]+)'/g)])
      .map(([, command]) => command);
    expect(used.length).toBeGreaterThan(10);
    expect(new Set(used).difference(new Set(checked))).toEqual(new Set());
  });

  it('R10 some commands: Redis is read, sessions fail closed, `ready` says down, and one line names them', async () => {
    const { redis, name, url } = await granted();
    const gateway = await gatewayAt(url);
    await is(gateway, 'redis', 'up');
    await change(redis, name, '-set', '-hlen');
    expect((await gateway.get('/v1/enterprises/ent-harbour/assets')).status).toBe(200);
    const { status, body } = await logIn(gateway);
    expect([status, body['code'], body['outcome']]).toEqual([503, 'dependency-unavailable', 'not_processed']);
    expect(await gateway.metrics()).toMatch(/^gateway_redis_errors_total\{reason="denied"\} [1-9]/m);
    await is(gateway, 'redis', 'down');
    await until('it is said', () => lines(gateway, 'redis-refuses').length > 0);
    expect(lines(gateway, 'redis-refuses')).toMatchObject([{ said: expect.stringMatching(/^denies /) }]);
    for (const right of ['+set', '+hlen'])
      expect(lines(gateway, 'redis-refuses')[0]?.['said']).toContain(right);
    await change(redis, name, '+set', '+hlen');
    await is(gateway, 'redis', 'up');
  });
});
