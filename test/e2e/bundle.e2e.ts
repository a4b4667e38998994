import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, getPriority, tmpdir } from 'node:os';
import { join, matchesGlob } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Fleet } from '../support/fleet.ts';
import { orderOf } from '../support/order-body.ts';
import { until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

const MIB = 1024 * 1024;

interface Document {
  readonly components: { readonly schemas: object };
}

interface Sbom {
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly purl: string;
    readonly hashes: readonly { readonly content: string }[];
  }[];
}

const read = <T>(path: string) => JSON.parse(readFileSync(path, 'utf8')) as T;

/** What `npm start` and the image run: one file, with a map to the sources. */
describe('the bundled gateway', () => {
  /** What the image has, far from any other package. */
  const image = mkdtempSync(join(tmpdir(), 'bundle-'));
  let sandbox: TestSandbox;
  let fleet: Fleet;

  beforeAll(async () => {
    for (const path of ['package.json', 'CHANGELOG.md', 'dist/bundle'])
      cpSync(path, join(image, path), { recursive: true });
    sandbox = await TestSandbox.start();
    fleet = await Fleet.start(sandbox, 1, {
      how: { folder: image },
      // Nothing listens there: the SDK is loaded all the same.
      environment: { DOCS: 'on', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' },
    });
  });
  afterAll(async () => {
    await fleet.stop();
    await sandbox.close();
    rmSync(image, { recursive: true });
  });

  it('is what `npm start` and the image run', () => {
    const { scripts, version } = read<{ scripts: { start: string }; version: string }>('package.json');
    expect(scripts.start).toBe(
      'exec node --enable-source-maps --max-semi-space-size=16 dist/bundle/gateway.js',
    );
    const dockerfile = readFileSync('Dockerfile', 'utf8');
    expect(dockerfile).toContain(
      'CMD ["node", "--enable-source-maps", "--max-semi-space-size=16", "dist/bundle/gateway.js"]',
    );
    expect(dockerfile).toContain(`ARG VERSION=${version}\n`);
    const copied = [...dockerfile.matchAll(/^COPY (.+) \S+$/gm)].map(([, from]) => from);
    expect(copied.slice(-2)).toEqual(['package.json CHANGELOG.md', '--from=build /app/dist/bundle']);
  });

  it('is built in the image from files that `.dockerignore` lets through, and from all that the bundler imports', () => {
    const lines = (path: string) => readFileSync(path, 'utf8').split('\n');
    const letThrough = lines('.dockerignore').flatMap((line) =>
      line.startsWith('!') ? [line.slice(1)] : [],
    );
    const copied = lines('Dockerfile')
      .filter((line) => /^COPY (?!--from)/.test(line))
      .flatMap((line) => line.split(' ').slice(1, -1));
    expect(copied.filter((path) => !letThrough.some((pattern) => matchesGlob(path, pattern)))).toEqual([]);
    const imported = copied
      .filter((path) => path.startsWith('scripts/'))
      .flatMap((path) => [...readFileSync(path, 'utf8').matchAll(/ from '\.\/(.+)'/g)])
      .map(([, name]) => `scripts/${name}`);
    expect(imported.filter((path) => !copied.includes(path))).toEqual([]);
    expect(imported.length).toBeGreaterThan(2);
  });

  it('starts with the compiled code that the image makes beforehand, without a place to write', () => {
    const [, options = ''] =
      /^RUN node (.+) dist\/bundle\/gateway\.js /m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
    const { scripts } = read<{ scripts: { start: string } }>('package.json');
    expect(scripts.start).toBe(`exec node ${options} dist/bundle/gateway.js`);
    const compiled = join(image, 'compiled');
    const start = (more: Record<string, string> = {}) =>
      spawnSync(process.execPath, [...options.split(' '), 'dist/bundle/gateway.js'], {
        cwd: image,
        env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: compiled, ...more },
        encoding: 'utf8',
      });
    expect(start().stderr).toMatch(/^configuration: /);
    chmodSync(compiled, 0o555);
    expect(start({ NODE_DEBUG_NATIVE: 'COMPILE_CACHE' }).stderr).toMatch(/gateway\.js was accepted/);
  });

  it('leaves out what costs time at each start and is never used', () => {
    const { components } = read<Sbom>(join(image, 'dist/bundle/sbom.cdx.json'));
    const names = components.map(({ name }) => name);
    expect(names).toContain('class-validator');
    expect(names).not.toContain('libphonenumber-js');
    expect(names).not.toContain('form-data');
  });

  it('reads, orders, and shows its document and its page', async () => {
    const assets = await fleet.get(0, '/v1/enterprises/ent-harbour/assets');
    expect(assets.status).toBe(200);
    const order = await fleet.post(0, '/v1/license-orders', orderOf('SO-bundle'));
    expect(order.status).toBe(201);
    const url = fleet.gateways[0]?.url;
    const document = (await (await fetch(`${url}/openapi.json`)).json()) as Document;
    const expected = read<Document>('config/openapi.json');
    expect(document.components.schemas).toEqual(expected.components.schemas);
    for (const path of ['/docs', '/docs/changelog', '/docs/swagger-ui-bundle.js', '/docs/page.js']) {
      const response = await fetch(url + path);
      expect([path, response.status]).toEqual([path, 200]);
    }
  });

  it('keeps the names of classes, and does not define those of functions each time they are made', () => {
    const code = readFileSync('dist/bundle/gateway.js', 'utf8');
    expect(code).toContain('static{__name(this,"OrderLedger")}');
    // An arrow function.
    expect(code).not.toMatch(/__name\((\(|\w+=>)/);
  });

  it('P18 leaves most of its heap free, since its map has no places in packages', async () => {
    const metrics = await (await fetch(`${fleet.gateways[0]?.managementUrl}/metrics`)).text();
    const oldMiB =
      Number(/^nodejs_heap_space_size_used_bytes\{space="old"\} (\S+)/m.exec(metrics)?.[1]) / MIB;
    expect(oldMiB).toBeGreaterThan(10);
    expect(oldMiB).toBeLessThan(80);
  });

  it('lets as much garbage gather as lives where its heap may be small: V8 by itself collects all objects at a third', async () => {
    const tracing = `data:text/javascript,${encodeURIComponent(
      "import { setFlagsFromString } from 'node:v8'; setFlagsFromString('--trace-gc-verbose');",
    )}`;
    const small = await fleet.launch(
      {},
      {
        folder: image,
        disturbed: true,
        nodeOptions: `--max-old-space-size=256 --import ${tracing}`,
      },
    );
    await small.disturb({ heap: 0 });
    await until('V8 has told its next limit', () => /"listening"[^]* factor /.test(small.output()));
    const [, factor] = /[^]* factor (\S+) /.exec(small.output()) ?? [];
    expect(factor).toBe('2.0');
  });

  it('P19 gives V8’s helper threads a lower priority than the thread that serves requests has', () => {
    const { pid } = fleet.gateways[0]?.child ?? {};
    const priorities = readdirSync(`/proc/${pid}/task`)
      .filter((thread) => readFileSync(`/proc/${pid}/task/${thread}/comm`, 'utf8').trim() === 'V8Worker')
      .map((thread) => getPriority(Number(thread)));
    expect(priorities.length).toBeGreaterThan(0);
    const lower = availableParallelism() > 1 ? 10 : 0;
    expect(new Set(priorities)).toEqual(new Set([Math.min(getPriority(pid) + lower, 19)]));
  });

  it('confirms the order store without other packages', () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--enable-source-maps', 'dist/bundle/guard-init.js', '--yes'],
      { cwd: image, env: { PATH: process.env['PATH'], ...fleet.environment }, encoding: 'utf8' },
    );
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('Ready.');
  });

  it('has a list of its packages, complete and with the hashes of the lock file', () => {
    const { components } = read<Sbom>(join(image, 'dist/bundle/sbom.cdx.json'));
    const { packages } = read<{ packages: Record<string, { version: string; integrity?: string }> }>(
      'package-lock.json',
    );
    const named = new Set(components.map(({ name }) => name));
    const inside = new Set(['swagger-ui-dist']);
    for (const file of ['gateway', 'guard-init'])
      for (const source of read<{ sources: string[] }>(join(image, `dist/bundle/${file}.js.map`)).sources) {
        const [, name] = /^.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source) ?? [];
        if (name !== undefined) inside.add(name);
      }
    // Some packages' own maps have sources of elsewhere.
    const known = [...inside].filter((name) => Object.hasOwn(packages, `node_modules/${name}`));
    expect(known.length).toBeGreaterThan(100);
    expect(known.filter((name) => !named.has(name))).toEqual([]);
    const { dependencies } = read<{ dependencies: object }>('package.json');
    expect(Object.keys(dependencies).filter((name) => !named.has(name))).toEqual([]);
    const locked = Object.entries(packages).map(([path, { version, integrity = '' }]) => {
      const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
      return `${name} ${version} ${Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex')}`;
    });
    for (const { name, version, purl, hashes } of components) {
      expect(locked).toContain(`${name} ${version} ${hashes[0]?.content}`);
      expect(decodeURIComponent(purl)).toBe(`pkg:npm/${name}@${version}`);
    }
  });

  it('names the sources in the stack of a failure', async () => {
    const failing = `data:text/javascript,${encodeURIComponent(
      "import { Server } from 'node:net'; Server.prototype.listen = () => { throw new Error('no listener') };",
    )}`;
    const started = Fleet.start(sandbox, 1, { how: { nodeOptions: `--import ${failing}` } });
    await expect(started).rejects.toThrow(/no listener[\s\S]* at .*src\/app\.ts:\d+:\d+/);
  });
});
