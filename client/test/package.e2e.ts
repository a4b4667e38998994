import { execFile } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { build } from 'esbuild';

/** The package as a team gets it: the tarball of `npm run pack:client` in a checkout without a build, unpacked as npm does. */

const run = promisify(execFile);
/** Of the main entry, minified. */
const MAX_BYTES = 20_000;

let folder: string;
let project: string;
let tarball: string;

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
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "name": "a-service", "private": true }');
  const checkout = join(folder, 'checkout');
  for (const path of ['package.json', '.npmrc', 'tsconfig.json', 'client'])
    cpSync(path, join(checkout, path), { recursive: true, filter: (from) => from !== 'client/dist' });
  for (const path of ['node_modules', 'bench', 'examples', 'sandbox-package'])
    symlinkSync(resolve(path), join(checkout, path));
  const pack = ['run', '-s', 'pack:client', '--', '--json', '--pack-destination', folder];
  const { stdout } = await run('npm', pack, { cwd: checkout });
  tarball = join(folder, (JSON.parse(stdout) as [{ filename: string }])[0].filename);
  const offline = ['--offline', '--no-audit', '--no-fund', '--omit=peer', '--ignore-scripts'];
  await run('npm', ['install', ...offline, tarball], { cwd: project });
  // What a project with TypeScript has of its own.
  mkdirSync(join(project, 'node_modules/@types'), { recursive: true });
  for (const name of ['@types/node', 'undici-types', '@nestjs'])
    symlinkSync(resolve('node_modules', name), join(project, 'node_modules', name));
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
  });

  it('is typed for modules and for CommonJS', async () => {
    const use = `import { isProblem, Licensing, type Asset } from '@licensing-gateway/client';
       import { LicensingModule } from '@licensing-gateway/client/nestjs';
       import { fakeLicensing, startGateway } from '@licensing-gateway/client/testing';
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

  it('runs in Node as a module, and by require from CommonJS, and has a command', async () => {
    const use = `
      const client = new Licensing({ baseUrl: 'http://127.0.0.1:1', apiKey: 'k', fetch: () => Promise.resolve(new Response('{"status":"ok"}')) });
      client.health.live().then(({ status }) => console.log(status, isProblem(new Error())));`;
    for (const [file, from] of [
      ['use.mjs', "import { isProblem, Licensing } from '@licensing-gateway/client';"],
      ['use.cjs', "const { isProblem, Licensing } = require('@licensing-gateway/client');"],
    ] as const) {
      writeFileSync(join(project, file), from + use);
      expect(await command(process.execPath, '--no-warnings', join(project, file))).toBe('ok false\n');
    }
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
    await tool('@arethetypeswrong/cli/dist/index.js', tarball, '--profile', 'esm-only');
  });

  it(`is under ${MAX_BYTES / 1_000} KB minified, for a browser, and needs nothing of Node`, async () => {
    const { outputFiles } = await build({
      entryPoints: [join(project, 'node_modules/@licensing-gateway/client/dist/licensing.js')],
      ...{ bundle: true, minify: true, format: 'esm', platform: 'browser', write: false },
    });
    const [bundle] = outputFiles;
    expect(bundle?.contents.length).toBeLessThan(MAX_BYTES);
    // Where there is an environment, it is read.
    expect(bundle?.text).not.toMatch(/\brequire\(|(?<!globalThis\.)\bprocess\b|\bBuffer\b/);
  });

  it('has the version of the API that it was made from', () => {
    const version = (path: string) => (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
    expect(version('client/package.json')).toBe(version('package.json'));
  });
});
