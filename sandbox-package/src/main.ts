/** `npx @licensing-gateway/sandbox` runs the emulated platform in this process, and the gateway in front of it in a separate one. */
import { readFileSync } from 'node:fs';
import { type Arguments, DEFAULT_USER, HELP, readArguments } from './arguments.ts';
import { type Asked, readAsked } from './asked.ts';
import { GatewayProcess } from './gateway-process.ts';
import { readProfile, type RunningPlatform, startPlatform } from './platform.ts';
import { faultOfPort, portRefusal } from './ports.ts';
import { readableLines, type Started } from './output.ts';
import { Refusal } from './refusal.ts';
import { newSetting } from './setting.ts';

const PARENT_CHECK_MS = 250;

/** The steps of the end, in reverse order. The gateway ends before the platform, so that its requests in flight can still finish. */
const toEnd: (() => void | Promise<void>)[] = [];
let ending: Promise<never> | undefined;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void end(0));

// npm and npx pass SIGTERM to their shell, which ends alone, and this process would go on.
const shell = process.ppid;
if (process.env['npm_lifecycle_event'] !== undefined)
  setInterval(() => process.ppid !== shell && void end(0), PARENT_CHECK_MS).unref();

function end(code: number): Promise<never> {
  ending ??= (async () => {
    for (const stop of toEnd.toReversed()) await stop();
    process.exit(code);
  })();
  return ending;
}

async function assertFree(option: string, port: number, host: string): Promise<void> {
  const fault = await faultOfPort(port, host);
  if (fault !== undefined) throw new Refusal(portRefusal(option, port, fault));
}

/** Checks that a requested user exists. The default user may be missing from a custom state. */
function assertKnown(platform: RunningPlatform, { user, state }: Arguments): void {
  if (user !== DEFAULT_USER && !platform.canLogIn(user))
    throw new Refusal(`--user ${user} is no member in ${state ?? 'the seed'} who can log in.`);
}

async function start(
  given: Arguments,
  asked: Asked,
): Promise<{ started: Started; platform: RunningPlatform }> {
  const { host, port, user, has } = given;
  const profile = await readProfile(given.profile);
  if (!has['sandbox-only']) await assertFree('--port', port, host);
  let gateway: GatewayProcess | undefined;
  const platform = await startPlatform(given, profile, asked.state, async (ms) => gateway?.moveClock(ms));
  toEnd.push(() => platform.sandbox.close());
  assertKnown(platform, given);
  const sandbox = shown(platform);
  if (has['sandbox-only']) return { started: { sandbox }, platform };
  const { caller, users = { default: user } } = asked;
  const setting = newSetting(platform, { name: 'test', ...caller }, users);
  toEnd.push(() => setting.remove());
  // The catalogue of the sandbox is no reading of the interface.
  const { products: _, ...readings } = profile;
  const environment = {
    ...{ HOST: host, PORT: String(port), MANAGEMENT_PORT: '0', DOCS: 'on', CACHE_TTL_MS: '0' },
    ...setting.environment,
    PLATFORM_PROFILE_FILE: setting.write('profile.json', { version: 1, readings }),
    ...asked.environment,
  };
  gateway = new GatewayProcess(environment, has.log ? process.stderr : undefined);
  toEnd.push(() => gateway.stop());
  const listening = await gateway.ready((why) => {
    if (ending !== undefined) return;
    process.stderr.write(`The gateway ended by itself (${why}).\n`);
    void end(1);
  });
  const started = {
    url: `http://127.0.0.1:${listening.port}`,
    apiKey: setting.apiKey,
    managementUrl: `http://127.0.0.1:${listening.managementPort}`,
    sandbox,
  };
  return { started, platform };
}

function shown({ sandbox, url, appKey, appSecret, password }: RunningPlatform): Started['sandbox'] {
  return { url, controlUrl: `${url}/__sandbox`, appKey, appSecret, password, seed: sandbox.seed };
}

function version(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

try {
  const given = readArguments(process.argv.slice(2));
  if (given.has.help || given.has.version) {
    process.stdout.write(given.has.help ? HELP : `${version()}\n`);
    process.exit(0);
  }
  const asked = given.has.stdin ? await readAsked(() => void end(0)) : {};
  const { started, platform } = await start(given, asked);
  process.stdout.write(
    given.has.json
      ? `${JSON.stringify(started)}\n`
      : readableLines(started, given, platform.canLogIn(given.user)),
  );
} catch (error) {
  // A process that was ended while it started has no reason to complain.
  if (ending !== undefined) await ending;
  const { name, message } = error as Error;
  process.stderr.write(`${error instanceof Refusal ? message : `${name}: ${message}`}\n`);
  await end(error instanceof Refusal ? 2 : 1);
}
