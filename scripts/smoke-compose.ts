/**
 * `npm run smoke:compose` builds and starts docker-compose.yml with Docker or Podman, places an order and reads it, stops the gateway as an
 * orchestrator does, and removes everything again. Its secrets, ports and names are its own, so that it disturbs no other project.
 */
import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { managementPaths } from './served-paths.ts';

interface Engine {
  readonly name: 'docker' | 'podman';
  readonly compose: readonly string[];
}

const ENGINES: readonly Engine[] = [
  { name: 'docker', compose: ['docker', 'compose'] },
  { name: 'podman', compose: ['podman-compose'] },
];
const MAX_IMAGE_BYTES = 250_000_000;
const STOPPED_WITHIN_MS = 5_000;
/** The time for which a load balancer may still send requests (`TERM` in src/http/shutdown.ts). */
const LINGER_MS = 5_000;
const PATIENCE_MS = 120_000;
const BUILD_MS = 900_000;

const run = promisify(execFile);
const works = (program: readonly string[], ...more: string[]) =>
  spawnSync(program[0] ?? '', [...program.slice(1), ...more], { stdio: 'ignore' }).status === 0;
const engine = ENGINES.find(
  (each) =>
    works(each.compose, each.name === 'docker' ? 'version' : '--version') && works([each.name, 'info']),
);
if (!engine) {
  console.error('no container engine: neither Docker with Compose nor Podman with podman-compose runs here');
  process.exit(2);
}

const { name: engineName, compose: composer } = engine;
const project = `gateway-smoke-${randomBytes(4).toString('hex')}`;
const folder = mkdtempSync(join(tmpdir(), 'gateway-smoke-'));
const [port, managementPort, sandboxPort] = await Promise.all([freePort(), freePort(), freePort()]);
const environment = {
  ...process.env,
  PORT: String(port),
  MANAGEMENT_PORT: String(managementPort),
  SANDBOX_PORT: String(sandboxPort),
  SECRETS_FOLDER: join(folder, '.compose'),
  SECRETS_UID: String(process.getuid?.() ?? 1000),
  SECRETS_GID: String(process.getgid?.() ?? 1000),
  // Podman needs the format that has health checks, and no layers that stay after the build.
  BUILDAH_FORMAT: 'docker',
  BUILDAH_LAYERS: 'false',
};
const gatewayUrl = `http://127.0.0.1:${port}`;

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void removed().finally(() => process.exit(130)));

let failure: unknown;
try {
  await smoke();
} catch (error) {
  failure = error;
  for (const service of ['gateway', 'sandbox', 'redis', 'database']) await showLog(service);
}
const left = await removed();
rmSync(folder, { recursive: true });
if (failure !== undefined) console.error(`FAILED: ${(failure as Error).message}`);
if (left.length > 0) console.error(`FAILED: left behind: ${left.join(', ')}`);
process.exitCode = failure === undefined && left.length === 0 ? 0 : 1;
if (process.exitCode === 0) say(`works with ${engineName}, and nothing is left behind`);

async function smoke(): Promise<void> {
  const made = spawnSync(process.execPath, [resolve('scripts/compose-secrets.ts')], {
    cwd: folder,
    encoding: 'utf8',
  });
  const key = /^ {2}(\S+)$/m.exec(made.stdout)?.[1];
  assert(key !== undefined, `compose-secrets gave no key: ${made.stderr}`);

  say(`builds and starts ${project} with ${composer.join(' ')}`);
  await compose(BUILD_MS, 'up', '-d', '--build');
  await until('the gateway responds', async () => (await get('/health/ready')).status === 200);
  await until(
    'the sandbox responds',
    async () => (await fetch(`http://127.0.0.1:${sandboxPort}/__sandbox/health`)).ok,
  );
  const gateway = await idOf('gateway');

  const unconfirmed = await place(key);
  assert(unconfirmed.status === 503, `an order before database-init got ${unconfirmed.status}`);
  await inside(gateway, 'node', 'dist/bundle/database-init.js', '--migrate');
  await until('the database is ready', async () => (await place(key)).status !== 503);
  const placed = await place(key);
  assert(
    placed.status === 201 || placed.status === 200,
    `the order got ${placed.status}: ${await placed.text()}`,
  );
  const read = await get('/v1/license-orders/crm/SO-3001', key);
  const record = (await read.json()) as { state?: string };
  assert(record.state === 'succeeded', `the order's record is ${JSON.stringify(record)}`);
  const assets = await get('/v1/enterprises/ent-harbour/assets', key);
  assert(assets.status === 200, `the assets got ${assets.status}`);
  const metrics = await fetch(`http://127.0.0.1:${managementPort}/metrics`);
  assert((await metrics.text()).includes('gateway_requests_total'), 'there are no metrics');
  for (const path of managementPaths) {
    const { status } = await fetch(`http://127.0.0.1:${managementPort}${path}`);
    assert(status === 200, `${path} got ${status}`);
  }
  say('an order is placed and read');

  await checkImage(gateway);

  const from = performance.now();
  await ask('stop', '-t', '40', gateway);
  const took = performance.now() - from - LINGER_MS;
  const code = await inspect(gateway, '{{.State.ExitCode}}');
  assert(code === '0', `the gateway ended with ${code}`);
  assert(took < STOPPED_WITHIN_MS, `the gateway took ${Math.round(took)} ms longer than it lingers`);
  say(
    `stopped with code 0, ${Math.max(0, Math.round(took))} ms after its ${LINGER_MS} ms for load balancers`,
  );

  const lines = (await logOf(gateway)).split('\n').filter((line) => line !== '');
  assert(lines.length > 3, `the log has ${lines.length} lines`);
  for (const line of lines) assert(isRecord(line), `a line of the log is not JSON: ${line}`);
  say(`the log has ${lines.length} lines, each of them JSON`);
}

/** Checks the content of the image. */
async function checkImage(gateway: string): Promise<void> {
  const image = await inspect(gateway, '{{.Image}}');
  const size = Number(await inspectImage(image, '{{.Size}}'));
  assert(size < MAX_IMAGE_BYTES, `the image has ${size} bytes`);
  const labels = JSON.parse(await inspectImage(image, '{{json .Config.Labels}}')) as Record<string, string>;
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  assert(
    labels['org.opencontainers.image.version'] === version,
    `the image's version is ${JSON.stringify(labels)}`,
  );
  const managers = await inside(gateway, 'bash', '-c', 'command -v npm npx corepack yarn apt-get dpkg; true');
  assert(managers === '', `the image has ${managers}`);
  const sbom = JSON.parse(await inside(gateway, 'cat', 'dist/bundle/sbom.cdx.json')) as {
    components: unknown[];
  };
  assert(sbom.components.length > 100, 'the list of packages is empty');
  const [, ...check] = JSON.parse(await inspectImage(image, '{{json .Config.Healthcheck.Test}}')) as string[];
  await inside(gateway, ...check);
  say(
    `the image has ${Math.round(size / 1e6)} MB and ${sbom.components.length} packages; its health check passes`,
  );
}

function place(key: string): Promise<Response> {
  const item = {
    orderType: 'new_buy',
    licenseType: 'cloud_account',
    customer: { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' },
    assets: [{ products: [{ productUri: 'draft.pro', limitConcurrent: 5 }] }],
  };
  return fetch(`${gatewayUrl}/v1/license-orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    body: JSON.stringify({ channelCode: 'crm', channelOrderId: 'SO-3001', items: [item] }),
  });
}

function get(path: string, key = ''): Promise<Response> {
  return fetch(gatewayUrl + path, { headers: key === '' ? {} : { 'x-api-key': key } });
}

async function compose(timeout: number, ...options: string[]): Promise<string> {
  const [program = '', ...first] = composer;
  const { stdout, stderr } = await run(program, [...first, '-p', project, ...options], {
    env: environment,
    timeout,
    maxBuffer: 1e8,
  });
  return stdout + stderr;
}

async function ask(...options: string[]): Promise<string> {
  const { stdout } = await run(engineName, options, {
    env: environment,
    timeout: PATIENCE_MS,
    maxBuffer: 1e8,
  });
  return stdout.trim();
}

function inside(container: string, ...what: string[]): Promise<string> {
  return ask('exec', container, ...what);
}

function inspect(id: string, format: string): Promise<string> {
  return ask('inspect', '--format', format, id);
}

function inspectImage(id: string, format: string): Promise<string> {
  return ask('image', 'inspect', '--format', format, id);
}

async function logOf(container: string): Promise<string> {
  const { stdout, stderr } = await run(engineName, ['logs', container], { maxBuffer: 1e8 });
  return stdout + stderr;
}

async function showLog(service: string): Promise<void> {
  const id = await idOf(service).catch(() => '');
  console.error(`--- ${service}:\n${id === '' ? 'no container' : await logOf(id)}`);
}

/** Returns the containers of the project, or of one of its services. */
async function idsOf(service?: string): Promise<string[]> {
  const filters = [`label=com.docker.compose.project=${project}`];
  if (service !== undefined) filters.push(`label=com.docker.compose.service=${service}`);
  const found = await ask('ps', '-aq', ...filters.flatMap((filter) => ['--filter', filter]));
  return found.split('\n').filter((id) => id !== '');
}

async function idOf(service: string): Promise<string> {
  const [id] = await idsOf(service);
  assert(id !== undefined, `there is no container of ${service}`);
  return id;
}

/** Removes everything of the project, and returns the parts that still exist. */
async function removed(): Promise<string[]> {
  await compose(PATIENCE_MS, 'down', '--volumes').catch((error: unknown) => console.error(error));
  const things = async () => ({
    container: await idsOf(),
    network: await namesOf('network', '{{.Name}}'),
    volume: await namesOf('volume', '{{.Name}}'),
    image: await namesOf('image', '{{.Repository}}:{{.Tag}}'),
  });
  for (const [kind, names] of Object.entries(await things()))
    for (const each of names)
      await ask(kind, 'rm', '-f', each).catch((error: unknown) => console.error(error));
  return Object.values(await things()).flat();
}

async function namesOf(kind: string, format: string): Promise<string[]> {
  const all = await ask(kind, 'ls', '--format', format);
  return all.split('\n').filter((each) => each.includes(project));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: free } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return free;
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!(await isSo().catch(() => false))) {
    if (performance.now() > end) throw new Error(`${what}: not within ${PATIENCE_MS} ms`);
    await sleep(500);
  }
}

function isRecord(line: string): boolean {
  try {
    return typeof JSON.parse(line) === 'object';
  } catch {
    return false;
  }
}

function assert(isSo: boolean, complaint: string): asserts isSo {
  if (!isSo) throw new Error(complaint);
}

function say(text: string): void {
  console.log(`smoke: ${text}`);
}
