import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { newEncryptionKey } from './canary.ts';
import { type NamedCaller, type Start, TestGateway } from './gateway.ts';
import { type RunningRedis, startRedis } from './redis.ts';
import { type SandboxOptions, TestSandbox } from './sandbox.ts';

interface StackOptions {
  /** Variables of the gateway on top of those in gateway.ts. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Beside `tester`, who may do everything. */
  readonly callers?: readonly NamedCaller[];
  /** The variables that hold the address of a Redis; none: everything stays in the gateway's memory. */
  readonly redis?: readonly ('REDIS_URL' | 'ORDER_REDIS_URL')[];
  readonly sandbox?: SandboxOptions;
  /** How the gateway starts; as a process of the shipped bundle if it is not said. */
  readonly start?: Start;
}

interface Stack {
  readonly sandbox: TestSandbox;
  readonly gateway: TestGateway;
  /** The server of `redis`; throws where there is none. */
  redis(): RunningRedis;
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
export function useStack({ environment, callers, redis = [], sandbox, start }: StackOptions = {}): Stack {
  const platform = new TestSandbox();
  const gateway = new TestGateway(callers);
  let server: RunningRedis | undefined;
  beforeAll(async () => {
    await platform.open(sandbox);
    if (redis.length > 0) server = await startRedis(['--appendonly', 'yes', '--appendfsync', 'always']);
    const { url = '' } = server ?? {};
    const store = server && {
      ...Object.fromEntries(redis.map((name) => [name, url])),
      ENCRYPTION_KEYS: newEncryptionKey(),
    };
    await gateway.open(platform, { ...store, ...environment }, start);
  });
  beforeEach(() => platform.reset());
  afterAll(async () => {
    await gateway.stop();
    await Promise.all([server?.stop(), platform.close()]);
  });
  return {
    sandbox: platform,
    gateway,
    redis: () => {
      if (!server) throw new Error('this stack has no Redis');
      return server;
    },
  };
}
