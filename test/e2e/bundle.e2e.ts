import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, matchesGlob } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { API_PAGE, CONSOLE_PAGE, managementPaths, publicPaths } from '../../scripts/served-paths.ts';
import { newSecret } from '../support/canary.ts';
import { Fleet } from '../support/fleet.ts';
import { NODE_PATH, START_SCRIPT, startGatewayProcess } from '../support/gateway-process.ts';
import { orderOf } from '../support/order-body.ts';
import { useSandbox } from '../support/stack.ts';

/** What `npm start` and the image run: one file with a map to the sources, and the files of its pages. */

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
/** The option of Node that runs a script before the gateway. */
const preloaded = (script: string) => `--import data:text/javascript,${encodeURIComponent(script)}`;

/** Writes the path of each file that is read. */
const TELLING = `
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  import { fileURLToPath } from 'node:url';
  const { readFileSync } = fs;
  fs.readFileSync = (file, ...rest) => {
    fs.writeSync(2, 'reads ' + (file instanceof URL ? fileURLToPath(file) : file) + '\\n');
    return readFileSync(file, ...rest);
  };
  syncBuiltinESMExports();`;

/** What the image has, far from any other package. */
const image = mkdtempSync(join(tmpdir(), 'bundle-'));
const logFolder = mkdtempSync(join(tmpdir(), 'bundle-log-'));
const logFile = join(logFolder, 'log');
const sandbox = useSandbox();
let fleet: Fleet;

beforeAll(async () => {
  const files = [
    ...['package.json', 'CHANGELOG.md', 'docs/operating.md', 'docs/recipes.md'],
    ...['response-examples.json', 'openapi-3.0.json', 'postman-collection.json'].map(
      (name) => `config/${name}`,
    ),
  ];
  for (const path of [...files, 'dist/bundle']) cpSync(path, join(image, path), { recursive: true });
  fleet = await Fleet.start(sandbox, 1, {
    how: {
      folder: image,
      nodeOptions: `--max-old-space-size=256 ${preloaded(TELLING)}`,
      // A pipe that this process has no time to read would be full, and then the gateway could not write to it.
      logFile,
    },
    environment: {
      DOCS: 'on',
      // Nothing listens there: the SDK is loaded all the same. At the end it would wait for an answer.
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
      OTEL_EXPORTER_OTLP_TIMEOUT: '100',
    },
  });
});
afterAll(async () => {
  await fleet.stop();
  for (const folder of [image, logFolder]) rmSync(folder, { recursive: true });
});

const gateway = () => {
  const [only] = fleet.gateways;
  if (!only) throw new Error('there is no gateway');
  return only;
};

async function withoutFile<T>(path: string, act: () => Promise<T>): Promise<T> {
  const away = `${image}-${basename(path)}`;
  renameSync(join(image, path), away);
  try {
    return await act();
  } finally {
    renameSync(away, join(image, path));
  }
}

describe('P19 the shipped bundle', () => {
  it('has read every file of its pages when it listens: it serves all of them after they are gone, also to HEAD', async () => {
    const { url, managementUrl } = gateway();
    const urls = [
      ...publicPaths.map((path) => url + path),
      ...managementPaths.map((path) => managementUrl + path),
    ];
    const without = (paths: readonly string[], act: () => Promise<void>): Promise<void> =>
      paths.reduceRight((inner, path) => () => withoutFile(path, inner), act)();
    await without(['dist', 'CHANGELOG.md', 'docs', 'config'], async () => {
      for (const each of urls) {
        const got = await fetch(each);
        expect([each, got.status, (await got.text()).length > 0]).toEqual([each, 200, true]);
        if (each.endsWith('/metrics')) continue;
        expect([each, (await fetch(each, { method: 'HEAD' })).status]).toEqual([each, 200]);
      }
    });
  });

  it('has two pages with files of the same names, and shows each where it belongs', async () => {
    const { url, managementUrl } = gateway();
    for (const [address, source] of [
      [`${url}/docs`, API_PAGE],
      [`${managementUrl}/console`, CONSOLE_PAGE],
    ] as const)
      expect(await (await fetch(address)).text()).toBe(readFileSync(`${source}/index.html`, 'utf8'));
  });

  // What it reads is in its output, so no file has to be taken away for it.
  it('needs every file that it has, but those of other commands and for people', () => {
    const others = [
      ...[
        'start.sh',
        'gateway.js',
        'gateway.js.map',
        'database-init.js',
        'database-init.js.map',
        'database-backup.js',
        'database-backup.js.map',
        'sqlite-worker.js',
        'sqlite-worker.js.map',
        'conformance.js',
        'conformance.js.map',
        'sbom.cdx.json',
      ],
      ...['package.json', 'LICENSE', 'NOTICE'],
    ];
    const has = readdirSync(join(image, 'dist/bundle'), { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile())
      .map(({ parentPath, name }) => join(parentPath, name));
    expect(has.map((path) => basename(path))).toEqual(expect.arrayContaining(others));
    const needed = has.filter((path) => !others.includes(basename(path)));
    expect(needed.length).toBeGreaterThan(20);
    const told = gateway().output();
    expect(needed.filter((path) => !told.includes(`reads ${path}\n`))).toEqual([]);
  });

  it('does not start without one of them, and names it', async () => {
    for (const [file, told] of [
      [
        'dist/bundle/console-page/jobs.js',
        'jobs.js cannot be read (ENOENT): the installation is incomplete\n',
      ],
      ['CHANGELOG.md', 'CHANGELOG.md cannot be read (ENOENT): the installation is incomplete\n'],
      ['docs/operating.md', 'docs/operating.md cannot be read (ENOENT): the installation is incomplete\n'],
      ['docs/recipes.md', 'docs/recipes.md cannot be read (ENOENT): the installation is incomplete\n'],
      ['config/response-examples.json', 'response-examples.json cannot be read (ENOENT)'],
      ['config/openapi-3.0.json', 'openapi-3.0.json cannot be read (ENOENT)'],
      ['config/postman-collection.json', 'postman-collection.json cannot be read (ENOENT)'],
      ['dist/bundle/node_modules/swagger-ui-dist/package.json', 'swagger-ui-dist/package.json'],
    ] as const)
      await withoutFile(file, async () => {
        const environment = { ...fleet.environment, DOCS: 'on', LOG_LEVEL: 'error' };
        const started = startGatewayProcess(environment, { folder: image }).then(async (running) => {
          await running.stop();
          return 'It started';
        });
        await expect(started).rejects.toThrow(told);
      });
  });
});

describe('the image', () => {
  const dockerfile = readFileSync('Dockerfile', 'utf8');
  const { scripts, version } = read<{ scripts: { start: string }; version: string }>('package.json');
  const lines = (path: string) => readFileSync(path, 'utf8').split('\n');

  it('starts the gateway as `npm start` does', () => {
    const kept = 'NODE_COMPILE_CACHE=${NODE_COMPILE_CACHE-node_modules/.cache/start}';
    expect(scripts.start).toBe(`sh scripts/needs-build.sh && ${kept} exec sh ${START_SCRIPT}`);
    expect(dockerfile).toContain(`CMD ["sh", "${START_SCRIPT}"]\n`);
    expect(dockerfile).toContain(`ARG VERSION=${version}\n`);
    const copied = [...dockerfile.matchAll(/^COPY (.+) \S+$/gm)].map(([, from]) => from);
    expect(copied.slice(-4)).toEqual([
      'package.json CHANGELOG.md',
      'docs/operating.md docs/recipes.md',
      'config/response-examples.json config/openapi-3.0.json config/postman-collection.json',
      '--from=build /app/dist/bundle',
    ]);
  });

  it('is built from files that `.dockerignore` lets through, and from all that the bundler imports', () => {
    const letThrough = lines('.dockerignore').flatMap((line) =>
      line.startsWith('!') ? [line.slice(1)] : [],
    );
    const copied = lines('Dockerfile')
      .filter((line) => /^COPY (?!--from)/.test(line))
      .flatMap((line) => line.split(' ').slice(1, -1));
    const isLetThrough = (path: string) =>
      letThrough.some((pattern) => matchesGlob(path, pattern) || matchesGlob(path, `${pattern}/**`));
    expect(copied.filter((path) => !isLetThrough(path))).toEqual([]);
    const imported = copied
      .filter((path) => path.startsWith('scripts/'))
      .flatMap((path) => [...readFileSync(path, 'utf8').matchAll(/ from '\.\/(.+)'/g)])
      .map(([, name]) => `scripts/${name}`);
    expect(imported.filter((path) => !copied.includes(path))).toEqual([]);
    expect(imported.length).toBeGreaterThan(2);
  });

  it('starts the sandbox with the files of its stage alone', async () => {
    const [, stage = ''] = /\nFROM runtime AS sandbox\n(.+?)\n(?=FROM )/s.exec(dockerfile) ?? [];
    const folder = mkdtempSync(join(tmpdir(), 'sandbox-image-'));
    for (const [, all = ''] of stage.matchAll(/^COPY (.+)$/gm)) {
      const paths = all.split(' ');
      const into = paths.pop() as string;
      for (const path of paths)
        cpSync(path, join(folder, into.endsWith('/') ? into + basename(path) : into), { recursive: true });
    }
    const [, command = ''] = /^CMD (.+)$/m.exec(stage) ?? [];
    const [, ...options] = JSON.parse(command) as string[];
    const child = spawn(process.execPath, options, {
      cwd: folder,
      env: { SANDBOX_APP_KEY: 'image', SANDBOX_APP_SECRET: newSecret('s'), SANDBOX_PORT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = once(child, 'close');
    const errors = text(child.stderr);
    const [line] = await Promise.race([once(child.stdout, 'data'), ended]);
    child.kill();
    const [status] = await ended;
    rmSync(folder, { recursive: true });
    expect([String(line), await errors, status]).toEqual([
      expect.stringMatching(/^sandbox listening at http:/),
      '',
      0,
    ]);
  });

  it.each(['gateway', 'database-init', 'conformance'])(
    'G24 %s names the Node that it needs where it is run by an older one',
    (program) => {
      const older = "Object.defineProperty(process, 'versions', { value: { node: '20.20.2' } })";
      const options = ['--import', `data:text/javascript,${encodeURIComponent(older)}`];
      const { status, stderr } = spawnSync(process.execPath, [...options, `dist/bundle/${program}.js`], {
        cwd: image,
        encoding: 'utf8',
      });
      expect([status, stderr]).toEqual([1, 'This needs Node 24.9 or newer, and is run by Node 20.20.2.\n']);
    },
  );

  it('starts with the compiled code that it makes beforehand, without a place to write', () => {
    expect(dockerfile).toContain(`RUN sh ${START_SCRIPT} `);
    const compiled = join(image, 'compiled');
    const start = (more: Record<string, string> = {}) =>
      spawnSync('sh', [START_SCRIPT], {
        cwd: image,
        env: { PATH: NODE_PATH, NODE_COMPILE_CACHE: compiled, ...more },
        encoding: 'utf8',
      });
    expect(start().stderr).toMatch(/^configuration: /);
    chmodSync(compiled, 0o555);
    expect(start({ NODE_DEBUG_NATIVE: 'COMPILE_CACHE' }).stderr).toMatch(/gateway\.js was accepted/);
  });
});

describe('the bundled gateway', () => {
  it('reads, orders, and shows its document', async () => {
    expect((await fleet.get(0, '/v1/enterprises/ent-harbour/assets')).status).toBe(200);
    expect((await fleet.post(0, '/v1/license-orders', orderOf('SO-bundle'))).status).toBe(201);
    const document = (await (await fetch(`${gateway().url}/openapi.json`)).json()) as Document;
    const expected = read<Document>('config/openapi.json');
    expect(document.components.schemas).toEqual(expected.components.schemas);
  });

  it('is in ASCII, which V8 keeps in one byte per character', () => {
    for (const file of readdirSync('dist/bundle').filter((name) => name.endsWith('.js')))
      expect([file, /[\u0080-\uffff]/.exec(readFileSync(`dist/bundle/${file}`, 'utf8'))]).toEqual([
        file,
        null,
      ]);
  });

  it('keeps the names of classes, and does not define those of functions each time they are made', () => {
    const code = readFileSync('dist/bundle/gateway.js', 'utf8');
    expect(code).toContain('static{__name(this,"OrderLedger")}');
    // An arrow function.
    expect(code).not.toMatch(/__name\((\(|\w+=>)/);
  });

  it("loads no second undici, which is Node's own, at its start", () => {
    const telling = "process.on('exit', () => console.error(process.moduleLoadList.join('\\n')))";
    const { stderr } = spawnSync('sh', [START_SCRIPT], {
      cwd: image,
      env: { PATH: NODE_PATH, NODE_OPTIONS: preloaded(telling) },
      encoding: 'utf8',
    });
    expect(stderr).toContain('NativeModule net\n');
    expect(stderr).not.toContain('internal/deps/undici');
  });

  it('P18 leaves most of its heap free, since its map has no places in packages', async () => {
    const metrics = await (await fetch(`${gateway().managementUrl}/metrics`)).text();
    const oldMiB =
      Number(/^nodejs_heap_space_size_used_bytes\{space="old"\} (\S+)/m.exec(metrics)?.[1]) / MIB;
    expect(oldMiB).toBeGreaterThan(10);
    expect(oldMiB).toBeLessThan(80);
  });

  it('makes a database ready without other packages', () => {
    const DATABASE_URL = `sqlite:${join(image, 'empty.db')}`;
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--enable-source-maps', 'dist/bundle/database-init.js', '--yes'],
      {
        cwd: image,
        env: { PATH: process.env['PATH'], ...fleet.environment, DATABASE_URL },
        encoding: 'utf8',
      },
    );
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('Ready.');
  });

  it('names the sources in the stack of a failure', async () => {
    const failing = "Server.prototype.listen = () => { throw new Error('no listener') };";
    const nodeOptions = preloaded(`import { Server } from 'node:net'; ${failing}`);
    const started = startGatewayProcess(fleet.environment, { nodeOptions });
    await expect(started).rejects.toThrow(/no listener[\s\S]* at .*src\/app\.ts:\d+:\d+/);
  });

  it('has a list of its packages, complete and with the hashes of the lock file', () => {
    const { components } = read<Sbom>(join(image, 'dist/bundle/sbom.cdx.json'));
    const { packages } = read<{ packages: Record<string, { version: string; integrity?: string }> }>(
      'package-lock.json',
    );
    const named = new Set(components.map(({ name }) => name));
    const inside = new Set(['swagger-ui-dist']);
    for (const file of ['gateway', 'database-init', 'database-backup', 'sqlite-worker', 'conformance'])
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
});
