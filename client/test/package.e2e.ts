import { execFile } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { build } from 'esbuild';
import { freePort } from '../../test/support/redis.ts';
import { Licensing } from '../src/licensing.ts';
import { OLDEST_NODE } from './support/oldest-node.ts';

/** The package as a team gets it: the tarball of `npm run pack:client` in a checkout without a build, unpacked as npm does. */

const run = promisify(execFile);
/** The bound of the main entry, minified, in each of its forms. */
const MAX_BYTES = 20_000;
const NODES = [
  ['Node 20', OLDEST_NODE],
  ['Node 24', process.execPath],
] as const;
/** The bound of the command, with the packages that are in it. */
const MAX_COMMAND_BYTES = 108_000;

let folder: string;
let project: string;
let tarball: string;

/** Installs the tarball into a new project of CommonJS, and links what the project has besides, which is no dependency of the package. */
async function installedIn(path: string, description: object, links: readonly string[]): Promise<void> {
  mkdirSync(join(path, 'node_modules/@types'), { recursive: true });
  writeFileSync(
    join(path, 'package.json'),
    JSON.stringify({ name: 'a-service', private: true, ...description }),
  );
  const offline = ['--offline', '--no-audit', '--no-fund', '--omit=peer', '--ignore-scripts'];
  await run('npm', ['install', ...offline, tarball], { cwd: path });
  for (const link of links) {
    const name = link.slice(link.lastIndexOf('node_modules/') + 'node_modules/'.length);
    mkdirSync(dirname(join(path, 'node_modules', name)), { recursive: true });
    symlinkSync(resolve(link), join(path, 'node_modules', name));
  }
}

async function command(program: string, ...args: string[]): Promise<string> {
  try {
    return (await run(program, args, { cwd: project })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${program} ${args.join(' ')}: ${stdout}${stderr}`, { cause: error });
  }
}
const tool = (path: string, ...args: string[]) =>
  command(process.execPath, resolve('node_modules', path), ...args);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'client-package-'));
  project = join(folder, 'project');
  const checkout = join(folder, 'checkout');
  for (const path of ['package.json', '.npmrc', 'tsconfig.json', 'client'])
    cpSync(path, join(checkout, path), { recursive: true, filter: (from) => from !== 'client/dist' });
  for (const path of ['node_modules', 'scripts', 'bench', 'examples', 'sandbox-package'])
    symlinkSync(resolve(path), join(checkout, path));
  const pack = ['run', '-s', 'pack:client', '--', '--json', '--pack-destination', folder];
  const { stdout } = await run('npm', pack, { cwd: checkout });
  tarball = join(folder, (JSON.parse(stdout) as [{ filename: string }])[0].filename);
  const links = ['@types/node', 'undici-types', '@nestjs'].map((name) => `node_modules/${name}`);
  await installedIn(project, {}, links);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('the package', () => {
  it('is installed without a registry: it has no dependency, and no more than the build and its pages', () => {
    const installed = readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'));
    expect(installed.filter((name) => !['@types', 'undici-types', '@nestjs'].includes(name))).toEqual([
      '@licensing-gateway',
    ]);
    const inside = join(project, 'node_modules/@licensing-gateway/client');
    expect(readdirSync(inside).sort()).toEqual(['README.md', 'dist', 'docs', 'package.json']);
    expect(readdirSync(join(inside, 'dist'))).toEqual(
      expect.arrayContaining(['licensing.js', 'licensing.d.ts', 'cli']),
    );
    // The command is one file. The packages in it want their licences to go along.
    expect(readdirSync(join(inside, 'dist/cli')).sort()).toEqual(['THIRD-PARTY-LICENSES.txt', 'main.js']);
    const licences = readFileSync(join(inside, 'dist/cli/THIRD-PARTY-LICENSES.txt'), 'utf8');
    expect(licences.match(/^\S+(?= \d+\.\d+\.\d+$)/gm)?.sort()).toEqual([
      '@commander-js/extra-typings',
      'commander',
      'fastest-levenshtein',
      'get-east-asian-width',
    ]);
    expect(statSync(join(inside, 'dist/cli/main.js')).size).toBeLessThan(MAX_COMMAND_BYTES);
  });

  it('is typed for modules and for CommonJS', async () => {
    const use = `import { isProblem, Licensing, type Asset } from '@licensing-gateway/client';
       import { LicensingModule } from '@licensing-gateway/client/nestjs';
       import { fakeLicensing } from '@licensing-gateway/client/fake';
       import { startGateway } from '@licensing-gateway/client/testing';
       const licensing = new Licensing({ baseUrl: process.env.LICENSING_URL ?? '', apiKey: process.env.LICENSING_API_KEY });
       export async function all(): Promise<readonly Asset[]> {
         const page = await licensing.assets.list({ enterpriseGlobalId: 'e' });
         // @ts-expect-error It is no number.
         const wrong: number = page.items[0].assetId;
         return page.items;
       }
       export const other = [isProblem, LicensingModule, fakeLicensing, startGateway];`;
    const files = ['use.mts', 'use.cts'];
    for (const file of files) writeFileSync(join(project, file), use);
    const strict = { target: 'es2022', lib: ['es2022'], types: ['node'], strict: true, noEmit: true };
    const compilerOptions = { ...strict, module: 'node20', exactOptionalPropertyTypes: true };
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
    expect(await tool('typescript/bin/tsc', '-p', project)).toBe('');
  });

  it.each(NODES)('runs in %s as a module and by require', async (_, node) => {
    const use = `
      const client = new Licensing({ baseUrl: 'http://127.0.0.1:1', apiKey: 'k', fetch: () => Promise.resolve(new Response('{"status":"ok"}')) });
      client.health.live().then(({ status }) => console.log(status, isProblem(new Error())));`;
    for (const [file, from] of [
      ['use.mjs', "import { isProblem, Licensing } from '@licensing-gateway/client';"],
      ['use.cjs', "const { isProblem, Licensing } = require('@licensing-gateway/client');"],
    ] as const) {
      writeFileSync(join(project, file), from + use);
      expect(await command(node, join(project, file))).toBe('ok false\n');
    }
  });

  it('has a command', async () => {
    expect(await command(join(project, 'node_modules/.bin/licensing'), '--help')).toContain(
      'licensing <command>',
    );
  });

  it('says what to install where the package that it runs in tests is missing', async () => {
    writeFileSync(
      join(project, 'start.mjs'),
      `import { startGateway } from '@licensing-gateway/client/testing';
       await startGateway().catch(({ message }) => console.log(message));`,
    );
    expect(await command(process.execPath, join(project, 'start.mjs'))).toBe(
      'startGateway() and startSandbox() need the package @licensing-gateway/sandbox: npm install --save-dev @licensing-gateway/sandbox\n',
    );
  });

  it('has nothing for publint and attw to complain about', async () => {
    const lint = await tool('publint/src/cli.js', 'run', tarball, '--strict').catch((error: unknown) =>
      String(error),
    );
    expect(lint).toContain('All good!');
    // Under all ways to resolve a module, also the one of TypeScript before 4.7 (`node10`).
    await tool('@arethetypeswrong/cli/dist/index.js', tarball, '--profile', 'strict');
  });

  it.each([
    ['esm', 'licensing.js'],
    ['cjs', 'cjs/licensing.js'],
  ] as const)(
    `is under ${MAX_BYTES / 1_000} KB minified as %s, and needs nothing of Node`,
    async (format, file) => {
      const { outputFiles } = await build({
        entryPoints: [join(project, 'node_modules/@licensing-gateway/client/dist', file)],
        ...{ bundle: true, minify: true, format, platform: 'browser', write: false },
      });
      const [bundle] = outputFiles;
      expect(bundle?.contents.length).toBeLessThan(MAX_BYTES);
      // The bundle reads the environment through `globalThis`, which browsers have too.
      expect(bundle?.text).not.toMatch(/\brequire\(|(?<!globalThis\.)\bprocess\b|\bBuffer\b/);
    },
  );

  it('has the fake client at an entry of its own, which runs where neither Node nor ES modules are', async () => {
    const { outputFiles } = await build({
      entryPoints: [join(project, 'node_modules/@licensing-gateway/client/dist/fake-licensing.js')],
      ...{ bundle: true, format: 'iife', platform: 'browser', write: false },
    });
    expect(outputFiles[0]?.text).not.toContain('import.meta');
  });

  it('names each group and each method on its page of calls', () => {
    const [, methodsPart = ''] = readFileSync('client/docs/calls.md', 'utf8').split('\n## Methods\n');
    const rows = [...methodsPart.matchAll(/^\| `(\w+)` +\|(.+)\|$/gm)].map(([, group = '', cells = '']) => [
      group,
      [...cells.matchAll(/`(\w+)`/g)].map(([, method]) => method).toSorted(),
    ]);
    const groups = Object.entries(new Licensing({ baseUrl: 'http://gateway', apiKey: 'k' }));
    // One sentence of the page has the dry runs.
    const methods = groups.map(([group, own]: [string, object]) => [
      group,
      Object.keys(own)
        .filter((name) => !name.startsWith('preview'))
        .toSorted(),
    ]);
    expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(methods));
  });

  it('has the version of the API that it was made from', () => {
    const version = (path: string) => (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
    expect(version('client/package.json')).toBe(version('package.json'));
  });
});

describe('a project of Nest 11 as `nest new` makes it: CommonJS, with ts-jest', () => {
  let nest: string;
  beforeAll(async () => {
    nest = join(folder, 'nest');
    const jest = {
      moduleFileExtensions: ['js', 'json', 'ts'],
      rootDir: 'src',
      testRegex: String.raw`.*\.spec\.ts$`,
      transform: { [String.raw`^.+\.(t|j)s$`]: 'ts-jest' },
      testEnvironment: 'node',
    };
    const links = ['jest', 'ts-jest', 'typescript', 'reflect-metadata', 'rxjs'];
    await installedIn(nest, { jest }, [
      'test/default-nest/node_modules/@nestjs',
      ...links.map((name) => `node_modules/${name}`),
    ]);
    const compilerOptions = {
      ...{ module: 'nodenext', moduleResolution: 'nodenext', isolatedModules: true, target: 'ES2023' },
      ...{ emitDecoratorMetadata: true, experimentalDecorators: true, strict: true },
    };
    writeFileSync(join(nest, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
    // The service and its test are those of the page.
    mkdirSync(join(nest, 'src'));
    const page = readFileSync('client/docs/nestjs.md', 'utf8');
    for (const [, block = ''] of page.matchAll(/```ts\n([^]*?)```/g)) {
      const [, file] = /^\/\/ (src\/sales\S+)\n/.exec(block) ?? [];
      if (file !== undefined) writeFileSync(join(nest, file), block);
    }
    const nowhere = `127.0.0.1:${await freePort()}`;
    writeFileSync(
      join(nest, 'src/module.spec.ts'),
      `import { Licensing } from '@licensing-gateway/client';
       import { LicensingHealthIndicator, LicensingModule } from '@licensing-gateway/client/nestjs';
       import { startGateway } from '@licensing-gateway/client/testing';
       import { signWebhook, verifyWebhook } from '@licensing-gateway/client/webhooks';
       import { Test } from '@nestjs/testing';

       test('the module gives one client, of the class that the service imports', async () => {
         const options = { baseUrl: 'http://${nowhere}', apiKey: 'k', attempts: 1 };
         const app = await Test.createTestingModule({ imports: [LicensingModule.forRoot(options)] }).compile();
         expect(app.get(Licensing)).toBeInstanceOf(Licensing);
         const health = await app.get(LicensingHealthIndicator).isHealthy('licensing');
         expect(health.licensing.detail).toMatch('No connection to the gateway at ${nowhere}: ECONNREFUSED');
       });
       test('a webhook that it signed is verified', async () => {
         const secret = 'whsec_' + btoa('a secret of thirty-two characters');
         expect(await verifyWebhook('{"id":1}', await signWebhook('1', '{"id":1}', secret), secret)).toEqual({ id: 1 });
       });
       test('the helpers look for the sandbox where the project has its packages', async () => {
         await expect(startGateway()).rejects.toThrow('npm install --save-dev @licensing-gateway/sandbox');
       });`,
    );
  });

  it.each(NODES)('passes its tests in %s without a flag', async (_, node) => {
    const options = ['--cacheDirectory', join(folder, 'cache'), '--runInBand'];
    const env = { PATH: process.env['PATH'] ?? '', NO_COLOR: '1' };
    const { stderr } = await run(node, ['node_modules/jest/bin/jest.js', ...options], { cwd: nest, env });
    expect(stderr).toMatch(/^Tests: +4 passed, 4 total$/m);
  });
});
