import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { TestGateway } from '../support/gateway.ts';
import { useSandbox } from '../support/stack.ts';

/** Clients in Java and Python that openapi-generator makes of the copy in OpenAPI 3.0 that the gateway serves. A program on each of them uses the gateway. */

/** Has what the client in Java needs, too: Jackson and the annotations. */
const GENERATOR = resolve('node_modules/@openapitools/openapi-generator-cli/bin/openapi-generator.jar');
const PROGRAMS = resolve('test/generators/clients');
/** Debian's packages of Python are for Debian's Python, and not for another one on the PATH. */
const PYTHON = '/usr/bin/python3';
const WITHOUT = 'apiTests=false,modelTests=false,apiDocs=false,modelDocs=false';

const sandbox = useSandbox();
let gateway: TestGateway;
let folder: string;

beforeAll(async () => {
  gateway = await TestGateway.start(sandbox, { WEBHOOK_HOSTS: '127.0.0.1' });
  folder = mkdtempSync(join(tmpdir(), 'gateway-languages-'));
  const served = await fetch(`${gateway.url}/openapi-3.0.json`);
  writeFileSync(join(folder, 'openapi.json'), await served.text());
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await gateway.stop();
});

/** Resolves to what the program prints. What it complains of is in the error where it fails. */
async function run(program: string, values: readonly string[], variables: Record<string, string> = {}) {
  const env = { PATH: process.env['PATH'], GATEWAY_URL: gateway.url, API_KEY: gateway.key, ...variables };
  try {
    return (await promisify(execFile)(program, values, { env, maxBuffer: 64 * 1024 * 1024 })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${program}: ${stdout.slice(-2_000)}${stderr.slice(-5_000)}`, { cause: error });
  }
}

async function generated(language: string, ...options: readonly string[]): Promise<string> {
  const output = join(folder, language);
  const what = ['--global-property', `apis,models,supportingFiles,${WITHOUT}`, ...options];
  await run('java', [
    '-jar',
    GENERATOR,
    'generate',
    '-i',
    join(folder, 'openapi.json'),
    '-g',
    language,
    '-o',
    output,
    ...what,
  ]);
  return output;
}

const programs: readonly (readonly [string, string, () => Promise<string>])[] = [
  [
    'Java',
    'Dora of Java',
    async () => {
      const options = 'library=native,dateLibrary=java8,openApiNullable=false';
      const client = await generated('java', '--additional-properties', options);
      const classes = join(folder, 'classes');
      const sources = [...globSync(`${client}/src/main/**/*.java`), join(PROGRAMS, 'Main.java')];
      await run('javac', ['-nowarn', '-cp', GENERATOR, '-d', classes, ...sources]);
      return run('java', ['-cp', `${classes}:${GENERATOR}`, 'Main']);
    },
  ],
  [
    'Python',
    'Dora of Python',
    async () => {
      const client = await generated('python');
      return run(PYTHON, [join(PROGRAMS, 'main.py')], { PYTHONPATH: client });
    },
  ],
];

it.each(programs)(
  'a client in %s places an order and reads its record, meets a problem, edits, walks pages, and keeps the secret of a webhook',
  async (_, name, program) => {
    const found = JSON.parse(await program()) as Record<string, unknown>;
    const [licenseOrderId] = found['licenseOrderIds'] as string[];
    const { body } = await gateway.get('/v1/enterprises/ent-harbour/assets?pageSize=1000');
    expect(found).toEqual({
      states: ['succeeded', 'succeeded'],
      licenseOrderIds: [expect.stringMatching(/^\d{16,}$/), licenseOrderId],
      status: 409,
      code: 'asset-assigned-twice',
      outcome: 'not_processed',
      conflicts: [{ assetNum: '8000001002', memberGlobalId: 'mem-harbour-anna' }],
      name,
      assetIds: (body['items'] as { assetId: string }[]).map(({ assetId }) => assetId),
      hasSecret: true,
      url: 'http://127.0.0.1:8080/hook',
    });
  },
);
