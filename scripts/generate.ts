/**
 * `npm run generate` writes the committed files that come from the code. `--check` compares them instead. It reads the built gateway,
 * because the build makes parts of the OpenAPI document (the plugin of @nestjs/swagger). `--from` names another folder of the build than
 * `dist`.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiDocument, clientFiles } from './client-files.ts';
import { envExample } from './env-example.ts';
import { figuresPage } from './figures-page.ts';
import { type FullDocument, openApi30 } from './openapi-3.0.ts';
import { type PostmanSource, postmanCollection } from './postman-collection.ts';
import { readingsPage } from './readings-page.ts';
import { type Document, type Gateway, responseExamples } from './response-examples.ts';

const fromAt = process.argv.indexOf('--from');
const FROM = fromAt < 0 ? 'dist' : process.argv[fromAt + 1];

/** Loads a module of the build. It has no types, so the caller declares the parts that it uses. */
async function built<T>(path: string): Promise<T> {
  return (await import(new URL(`../${FROM}/${path}`, import.meta.url).href)) as T;
}

const { loadConfig } = await built<{ loadConfig: (environment: Record<string, string>) => object }>(
  'config/app-config.js',
);
const { buildApp } = await built<{ buildApp: (config: object) => Promise<Gateway> }>('app.js');
const { openApiDocument } = await built<{
  openApiDocument: (app: Gateway, examples: object) => Document;
}>('operation/openapi/document.js');

const examples = await responseExamples({
  makeGateway: (environment) => buildApp(loadConfig(environment)),
  documentOf: (gateway) => openApiDocument(gateway, {}),
});

async function openApi(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-generate-'));
  const callersFile = join(folder, 'callers.json');
  writeFileSync(callersFile, '{ "callers": [] }');
  try {
    // The settings are made up: the app is built, but neither listens nor calls another server.
    const app = await buildApp(
      loadConfig({
        LOG_LEVEL: 'silent',
        UPSTREAM_BASE_URL: 'https://platform.invalid',
        UPSTREAM_TOKEN_URL: 'https://platform.invalid/token',
        UPSTREAM_APP_KEY: 'none',
        UPSTREAM_APP_SECRET: 'none',
        CALLERS_FILE: callersFile,
      }),
    );
    try {
      return `${JSON.stringify(openApiDocument(app, examples), null, 2)}\n`;
    } finally {
      await app.close();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface Described {
  readonly name: string;
  readonly help: string;
  readonly type?: string;
  readonly labelNames?: readonly string[];
}

/** Returns the page of all metrics of the gateway's own, including those that need a Redis or a database. */
async function metricsPage(): Promise<string> {
  const { Metrics } = await built<{
    Metrics: new () => {
      registry: { getMetricsAsArray(): Described[] };
      set(name: string, labels: Record<string, string>, value: number): void;
    };
  }>('observability/metrics.js');
  const metrics = new Metrics();
  metrics.set('gateway_redis_up', {}, 1);
  metrics.set('gateway_database_stopped', { reason: 'none' }, 1);
  metrics.set('gateway_database_weak', {}, 0);
  metrics.set('gateway_order_records_unreadable', {}, 0);
  const own = metrics.registry
    .getMetricsAsArray()
    .filter(({ name }) => name.startsWith('gateway_'))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const linesOf = (kind: string) =>
    own
      .filter(({ type = 'counter' }) => type === kind)
      .map(({ name, labelNames = [], help }) => {
        const labels = labelNames.length > 0 ? `{${labelNames.join(', ')}}` : '';
        return `- \`${name}${labels}\`: ${help}`;
      })
      .join('\n');
  return `# Metrics

\`/metrics\` on the management listener has these metrics, and those of the process (\`process_…\`, \`nodejs_…\`).
Labels, here in braces, have values from fixed sets, never a request's data. \`npm run generate\` makes this page
from the code.

## Gauges

${linesOf('gauge')}

## Counters

${linesOf('counter')}

## Histograms

Each has \`_bucket\`, \`_sum\` and \`_count\`.

${linesOf('histogram')}
`;
}

/** Returns the alerts as an object of the Prometheus operator. */
function prometheusRule(): string {
  const alerts = read('deploy/prometheus/alerts.yml') ?? '';
  const groups = alerts.slice(alerts.search(/^groups:/m)).replaceAll(/^(?=.)/gm, '  ');
  return `# Made from deploy/prometheus/alerts.yml by \`npm run generate\`.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: gateway
spec:
${groups}`;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Returns the figures of the comparisons with earlier commits, by commit. */
function benchesAgainst(): Record<string, string> {
  const commits = readdirSync('docs').flatMap((file) => /^bench-(\w+)\.json$/.exec(file)?.[1] ?? []);
  return Object.fromEntries(commits.toSorted().map((each) => [each, read(`docs/bench-${each}.json`) ?? '']));
}

/** Returns the first line in which a file differs from the one that the code makes. */
function firstDifference(committed: string, made: string): string {
  const [before, after] = [committed.split('\n'), made.split('\n')];
  const at = after.findIndex((line, index) => line !== before[index]);
  return `Line ${at + 1} is "${before[at]?.trim()}" and would be "${after[at]?.trim()}"`;
}

const document = await openApi();
const check = process.argv.includes('--check');
for (const [path, text] of [
  ['config/.env.example', envExample()],
  ['config/response-examples.json', `${JSON.stringify(examples, null, 2)}\n`],
  ['config/openapi.json', document],
  [
    'config/openapi-3.0.json',
    `${JSON.stringify(openApi30(JSON.parse(document) as FullDocument), null, 2)}\n`,
  ],
  [
    'config/postman-collection.json',
    `${JSON.stringify(postmanCollection(JSON.parse(document) as PostmanSource), null, 2)}\n`,
  ],
  ...(await clientFiles(JSON.parse(document) as ApiDocument)),
  ['docs/metrics.md', await metricsPage()],
  ['deploy/kubernetes/components/monitoring/rules.yaml', prometheusRule()],
  ['docs/readings.md', readingsPage()],
  ['docs/figures.md', figuresPage(read('docs/bench.json') ?? '', benchesAgainst())],
] as const) {
  if (read(path) === text) {
    console.log(`${path} is up to date`);
  } else if (check) {
    console.error(
      `${path} is stale: run \`npm run generate\` and commit it. ${firstDifference(read(path) ?? '', text)}`,
    );
    process.exitCode = 1;
  } else {
    writeFileSync(path, text);
    console.log(`${path} written`);
  }
}
