import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { newEncryptionKey } from './canary.ts';
import { type EngineName, emptyDatabase } from './database.ts';
import { type NamedCaller, type Start, TestGateway } from './gateway.ts';
import { type RunningRedis, startRedis } from './redis.ts';
import { type SandboxOptions, TestSandbox } from './sandbox.ts';

interface StackOptions {
  /** Variables of the gateway on top of those in gateway.ts. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Beside `tester`, who may do everything. */
  readonly callers?: readonly NamedCaller[];
  /** What must not be lost is kept there; in the gateway's memory if it is not said. */
  readonly database?: EngineName;
  /** True if a Redis keeps what may be lost; else that stays in the gateway's memory. */
  readonly redis?: true;
  readonly sandbox?: SandboxOptions;
  /** How the gateway starts; as a process of the shipped bundle if it is not said. */
  readonly start?: Start;
}

interface Stack {
  readonly sandbox: TestSandbox;
  readonly gateway: TestGateway;
  /** The server of `redis`; throws where there is none. */
  redis(): RunningRedis;
  /** `DATABASE_URL` of the gateway. */
  databaseUrl(): string;
}

/** A sandbox for all tests of a file: it starts before all that the file starts. */
export function useSandbox(): TestSandbox {
  const sandbox = new TestSandbox();
  beforeAll(() => sandbox.open());
  afterAll(() => sandbox.close());
  return sandbox;
}

/**
 * A sandbox and the shipped gateway in front of it, for all tests of a file or of a `describe` block. They start before the first test and
 * stop after the last one; the sandbox is reset before each test.
 */
export function useStack({
  environment,
  callers,
  database = 'memory',
  redis,
  sandbox,
  start,
}: StackOptions = {}): Stack {
  const platform = new TestSandbox();
  const gateway = new TestGateway(callers);
  let server: RunningRedis | undefined;
  let store: { url: string; remove: () => Promise<void> } | undefined;
  beforeAll(async () => {
    await platform.open(sandbox);
    if (redis) server = await startRedis();
    store = await emptyDatabase(database);
    const stores = {
      DATABASE_URL: store.url,
      ENCRYPTION_KEYS: newEncryptionKey(),
      ...(server && { REDIS_URL: server.url }),
    };
    await gateway.open(platform, { ...stores, ...environment }, start);
  });
  beforeEach(() => platform.reset());
  afterAll(async () => {
    await gateway.stop();
    await Promise.all([server?.stop(), platform.close(), store?.remove()]);
  });
  return {
    sandbox: platform,
    gateway,
    redis: () => {
      if (!server) throw new Error('this stack has no Redis');
      return server;
    },
    databaseUrl: () => store?.url ?? '',
  };
}
