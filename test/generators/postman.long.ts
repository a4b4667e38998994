import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { prepareDemo } from '../../scripts/demo-state.ts';
import { scopes } from '../../src/request/scopes.ts';
import { document } from '../support/contract.ts';
import { TestGateway } from '../support/gateway.ts';
import { useSandbox } from '../support/stack.ts';

/** Postman's own program runs the collection against a fresh demo. */

const COLLECTION = 'config/postman-collection.json';
const NEWMAN = 'node_modules/newman/bin/newman.js';

interface Report {
  readonly run: {
    readonly executions: readonly {
      readonly item: { readonly name: string };
      readonly response?: { readonly code: number };
      readonly assertions?: readonly { readonly error?: { readonly message: string } }[];
    }[];
  };
}

const sandbox = useSandbox();
let gateway: TestGateway;
let folder: string;

beforeAll(async () => {
  const all = { enterprises: ['*'], channels: ['*'], users: ['*'] };
  gateway = await TestGateway.start(sandbox, { WEBHOOK_HOSTS: '127.0.0.1', ESTATE_REFRESH: '6h' }, [
    { name: 'demo', scopes: [...scopes], ...all },
  ]);
  folder = mkdtempSync(join(tmpdir(), 'gateway-postman-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await gateway.stop();
});

it('Postman runs every request of the collection, twice, and each succeeds', async () => {
  const key = gateway.keys['demo'] ?? '';
  await prepareDemo({ gatewayUrl: gateway.url, key, sandboxUrl: sandbox.url });
  const environment = join(folder, 'environment.json');
  const report = join(folder, 'report.json');
  const values = Object.entries({ baseUrl: gateway.url, apiKey: key }).map(([name, value]) => ({
    key: name,
    value,
  }));
  writeFileSync(environment, JSON.stringify({ name: 'test', values }));
  // Newman ends with 1 if a request fails, and the report says which.
  const options = ['--reporters', 'json', '--reporter-json-export', report, '--iteration-count', '2'];
  await promisify(execFile)(process.execPath, [
    NEWMAN,
    'run',
    COLLECTION,
    '-e',
    environment,
    ...options,
  ]).catch(() => undefined);
  const { run } = JSON.parse(readFileSync(report, 'utf8')) as Report;
  const failed = run.executions.flatMap(({ item, response, assertions = [] }) =>
    assertions
      .filter(({ error }) => error)
      .map(({ error }) => `${item.name} ${response?.code}: ${error?.message}`),
  );
  expect(failed).toEqual([]);

  const named = run.executions.map(({ item }) => item.name.split(':')[0] ?? '');
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  // Streams have no end.
  const expected = operations
    .filter(({ responses }) => !responses['200']?.content?.['text/event-stream'])
    .flatMap(({ operationId }) => [operationId, operationId]);
  expect(named.toSorted()).toEqual(expected.toSorted());
});
