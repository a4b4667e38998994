import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestGateway } from '../support/gateway.ts';
import { useSandbox } from '../support/stack.ts';

/** Clients that generators make from config/openapi.json: they compile under `strict`, and work without a cast. */

const DOCUMENT = resolve('config/openapi.json');
const CLIENTS = 'test/generators/clients/main.ts';
const run = promisify(execFile);

const sandbox = useSandbox();
let gateway: TestGateway;
let folder: string;

beforeAll(async () => {
  gateway = await TestGateway.start(sandbox);
  folder = mkdtempSync(join(tmpdir(), 'gateway-clients-'));
  copyFileSync(CLIENTS, join(folder, 'main.ts'));
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  write('package.json', { type: 'module' });
  write('tsconfig.json', {
    compilerOptions: {
      target: 'es2024',
      lib: ['es2025', 'dom', 'dom.iterable'],
      types: ['node'],
      module: 'nodenext',
      strict: true,
      skipLibCheck: true,
      rewriteRelativeImportExtensions: true,
      outDir: 'out',
    },
    files: ['main.ts'],
  });
  write('hey-api.config.json', {
    input: DOCUMENT,
    output: { path: 'generated/hey-api', module: { extension: '.js' } },
    plugins: ['@hey-api/client-fetch', 'zod', { name: '@hey-api/sdk', validator: true }],
    logs: { level: 'silent' },
  });
  writeFileSync(
    join(folder, 'orval.config.mjs'),
    `export default ${JSON.stringify({
      client: {
        input: DOCUMENT,
        output: { target: 'generated/orval/client.ts', client: 'fetch', baseUrl: gateway.url },
      },
      zod: { input: DOCUMENT, output: { target: 'generated/orval/zod.ts', client: 'zod' } },
    })};`,
  );
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await gateway.stop();
});

function write(name: string, content: object): void {
  writeFileSync(join(folder, name), JSON.stringify(content));
}

/** Runs a program of a package in the folder of the clients. What it prints is in the error where it fails. */
async function program(path: string, ...values: string[]): Promise<string> {
  try {
    const { stdout } = await run(process.execPath, [path, ...values], {
      cwd: folder,
      env: { PATH: process.env['PATH'], GATEWAY_URL: gateway.url, API_KEY: gateway.key },
    });
    return stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${path}: ${stdout}${stderr}`, { cause: error });
  }
}

interface Found {
  readonly licenseOrderIds: readonly (string | null)[];
  readonly conflicts: readonly object[];
  readonly assetIds: readonly string[];
}

const inPackage = (path: string) => resolve('node_modules', path);

describe('clients of openapi-typescript, hey-api and orval', () => {
  it('are made from the document, compile under strict, and do what README.md shows', async () => {
    await Promise.all([
      program(inPackage('openapi-typescript/bin/cli.js'), DOCUMENT, '-o', 'generated/openapi-typescript.ts'),
      program(inPackage('@hey-api/openapi-ts/bin/run.js'), '-f', 'hey-api.config.json'),
      program(inPackage('orval/dist/bin/orval.mjs'), '--config', 'orval.config.mjs'),
    ]);
    await program(inPackage('typescript/bin/tsc'), '-p', '.');
    const found = JSON.parse(await program('out/main.js')) as Record<string, Found>;

    const { body } = await gateway.get('/v1/enterprises/ent-harbour/assets?pageSize=1000');
    const all = (body['items'] as { assetId: string }[]).map(({ assetId }) => assetId);
    expect(Object.keys(found)).toEqual(['ofOpenapiFetch', 'ofHeyApi', 'ofOrval']);
    for (const { licenseOrderIds, conflicts, assetIds } of Object.values(found)) {
      // The second of the same request.
      expect(licenseOrderIds).toEqual([expect.stringMatching(/^\d{16,}$/), licenseOrderIds[0]]);
      expect(conflicts).toEqual([{ assetNum: '8000001002', memberGlobalId: 'mem-harbour-anna' }]);
      // Each client buys one asset before it walks.
      expect(all).toEqual(expect.arrayContaining([...assetIds]));
      expect(assetIds.length).toBeGreaterThan(10);
      expect(new Set(assetIds).size).toBe(assetIds.length);
    }
    expect(found['ofOrval']?.assetIds).toEqual(all);
  });

  it('are made without a cast', () => {
    expect(readFileSync(CLIENTS, 'utf8')).not.toMatch(
      /\bas (?!(orval|heyApi|createHeyApi)\b)|<any>|: any\b|@ts-/,
    );
  });
});
