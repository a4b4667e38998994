import { setTimeout as sleep } from 'node:timers/promises';
import { Fleet } from '../test/support/fleet.ts';
import { TestSandbox } from '../test/support/sandbox.ts';
import { load, percentile, type Sample, share } from './load.ts';

/**
 * What holds when a part fails: `npm run bench:resilience [-- <words of a name>]` prints each figure beside its limit. Counts and
 * ratios of one run, since times on a shared machine say little. Needs the build and a redis-server.
 */

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const MEMBERS = '/v1/enterprises/ent-harbour/members';
const RATE = 200;

interface Figure {
  readonly name: string;
  readonly line: string;
  readonly measured: string;
  readonly holds: boolean;
}
type Scenario = () => Promise<Omit<Figure, 'name' | 'line'>>;
type FleetOptions = Parameters<typeof Fleet.start>[2];

/** A platform and a fleet for one scenario, warm unless the scenario wants a cold start. */
async function withFleet<T>(
  count: number,
  work: (fleet: Fleet, sandbox: TestSandbox) => Promise<T>,
  options: FleetOptions = {},
): Promise<T> {
  const sandbox = await TestSandbox.start();
  const fleet = await Fleet.start(sandbox, count, options);
  try {
    return await work(fleet, sandbox);
  } finally {
    await fleet.stop();
    await sandbox.close();
  }
}

function sender(fleet: Fleet, path: string): (index: number) => Promise<Response> {
  const headers = { 'x-api-key': fleet.key };
  return (index) => fetch(`${fleet.gateways[index % fleet.gateways.length]?.url}${path}`, { headers });
}

const tokenRequests = async (sandbox: TestSandbox) => (await sandbox.journal('token')).length;
const percent = (value: number) => `${(value * 100).toFixed(value === 1 ? 0 : 2)} %`;
const ms = (value: number) => `${value.toFixed(1)} ms`;
const after = (samples: readonly Sample[], seconds: number) => samples.filter(({ at }) => at >= seconds);

const scenarios: readonly (readonly [name: string, line: string, run: Scenario])[] = [
  [
    'token requests, 3 processes × 1,000 cold callers',
    '1 a principal',
    () =>
      withFleet(3, async (fleet, sandbox) => {
        const answers = await fleet.herd(1_000, ASSETS);
        const served = answers.filter(({ status }) => status === 200).length / answers.length;
        const requests = await tokenRequests(sandbox);
        return { measured: `${requests}, ${percent(served)} served`, holds: requests === 1 && served === 1 };
      }),
  ],
  [
    'application token revoked under 3 × 200 callers in flight',
    '1 renewal, 100 % served, at most 2 attempts a request',
    () =>
      withFleet(3, async (fleet, sandbox) => {
        await fleet.herd(1, ASSETS);
        const before = await tokenRequests(sandbox);
        await sandbox.revokeTokens();
        const answers = await fleet.herd(200, ASSETS);
        const served = answers.filter(({ status }) => status === 200).length / answers.length;
        const renewals = (await tokenRequests(sandbox)) - before;
        const attempts = ((await sandbox.journal('listAssets')).length - 3) / answers.length;
        return {
          measured: `${renewals} renewal, ${percent(served)} served, ${attempts.toFixed(2)} attempts a request`,
          holds: renewals === 1 && served === 1 && attempts <= 2,
        };
      }),
  ],
  [
    'token endpoint down 60 s at 200 requests/s',
    'at most 8 requests to it fleet-wide; serving again within 2 s and one backoff step',
    () =>
      withFleet(3, async (fleet, sandbox) => {
        await sandbox.fault({ operation: 'token', action: { httpStatus: 503 } });
        let requests = 0;
        const recovery = sleep(60_000).then(async () => {
          requests = await tokenRequests(sandbox);
          await sandbox.reset();
        });
        const samples = await load({ rate: RATE, seconds: 100, send: sender(fleet, ASSETS) });
        await recovery;
        const back = samples.find(({ status }) => status === 200)?.at ?? Infinity;
        const step = samples.findLast(({ at, status }) => at < 60 && status === 503)?.retryAfter ?? 0;
        const late = back - 60;
        const failedLater = samples.filter(({ at, status }) => at > back + 1 && status !== 200).length;
        return {
          measured: `${requests} requests; serving ${late.toFixed(1)} s later, of which ${step} s were left of the step`,
          holds: requests <= 8 && late <= step + 2 && failedLater === 0,
        };
      }),
  ],
  [
    'wrong user password, 1,000 callers, one hour (the process is told that time passes)',
    'at most 3 attempts',
    () =>
      withFleet(
        1,
        async (fleet, sandbox) => {
          for (let caller = 0; caller < 1_000; caller++) {
            await fleet.gateways[0]?.disturb({ uptime: caller * 3_600 });
            await fleet.get(0, MEMBERS);
          }
          const attempts = (await sandbox.journal('token')).filter(
            ({ body }) => (body as { grant_type?: string }).grant_type === 'password',
          ).length;
          return { measured: String(attempts), holds: attempts > 0 && attempts <= 3 };
        },
        {
          users: { default: { username: 'admin@harbour', password: 'not the right one' } },
          environment: { REDIS_URL: '', ENCRYPTION_KEYS: '' },
          how: { disturbed: true },
        },
      ),
  ],
  [
    'upstream answering 503 to all, 30 s at 200 requests/s',
    'attempts / requests ≤ 1.2',
    () =>
      withFleet(1, async (fleet, sandbox) => {
        await fleet.herd(1, ASSETS);
        await sandbox.fault({ operation: '*', action: { httpStatus: 503 } });
        const samples = await load({ rate: RATE, seconds: 30, send: sender(fleet, ASSETS) });
        const attempts = ((await sandbox.journal('listAssets')).length - 1) / samples.length;
        return { measured: attempts.toFixed(3), holds: attempts <= 1.2 && share(samples, 503) === 1 };
      }),
  ],
  [
    'upstream stalls 10 s, deadline 2 s',
    'p99 ≤ 2.1 s',
    () =>
      withFleet(
        1,
        async (fleet, sandbox) => {
          await fleet.herd(1, ASSETS);
          await sandbox.fault({ operation: '*', action: { delayMs: 10_000 } });
          const samples = await load({ rate: RATE, seconds: 15, send: sender(fleet, ASSETS) });
          const p99 = percentile(samples, 0.99);
          return {
            measured: `${(p99 / 1_000).toFixed(2)} s`,
            holds: p99 <= 2_100 && share(samples, 0) === 0,
          };
        },
        { environment: { UPSTREAM_DEADLINE_MS: '2000' } },
      ),
  ],
  [
    'one group stalled, another at 200 requests/s',
    "the other's p99 ≤ 2 × its baseline, 0 errors",
    () =>
      withFleet(
        1,
        async (fleet, sandbox) => {
          // As many requests of both groups before and after, so that only the stall differs.
          const both = async () => {
            const assets = load({ rate: RATE, seconds: 10, send: sender(fleet, ASSETS) });
            const members = await load({ rate: RATE, seconds: 10, send: sender(fleet, MEMBERS) });
            await assets;
            return members;
          };
          await both();
          const baseline = percentile(await both(), 0.99);
          await sandbox.fault({ operation: 'listAssets', action: { delayMs: 10_000 } });
          const beside = await both();
          const ratio = percentile(beside, 0.99) / baseline;
          const errors = beside.filter(({ status }) => status !== 200).length;
          return {
            measured: `${ratio.toFixed(2)} × (baseline ${ms(baseline)}), ${errors} errors`,
            holds: ratio <= 2 && errors === 0,
          };
        },
        { environment: { UPSTREAM_DEADLINE_MS: '2000' } },
      ),
  ],
  [
    'Redis frozen 30 s, warm reads',
    '100 % served; after the first second at most 5 ms added',
    () =>
      withFleet(
        1,
        async (fleet) => {
          const reads = (seconds: number) => load({ rate: RATE, seconds, send: sender(fleet, ASSETS) });
          await reads(5);
          const before = await reads(10);
          fleet.redis.freeze();
          const frozen = await reads(30);
          fleet.redis.thaw();
          const served = share(frozen, 200);
          const added = [0.5, 0.99].map(
            (part) => percentile(after(frozen, 1), part) - percentile(before, part),
          ) as [number, number];
          return {
            measured: `${percent(served)} served; ${ms(added[0])} added at the median, ${ms(added[1])} at p99`,
            holds: served === 1 && Math.max(...added) <= 5,
          };
        },
        { environment: { CACHE_TTL_MS: '1000' } },
      ),
  ],
  [
    'SIGTERM at 200 requests/s',
    '0 failed',
    () =>
      withFleet(2, async (fleet) => {
        const [leaving, staying] = fleet.gateways;
        const headers = { 'x-api-key': fleet.key };
        // As a load balancer does: half of the load each, until readiness changes.
        let ready = true;
        const probe = setInterval(() => {
          fetch(`${leaving?.url}/health/ready`).then(
            ({ status }) => (ready = status === 200),
            () => (ready = false),
          );
        }, 1_000);
        const stopping = sleep(3_000).then(() => leaving?.child.kill('SIGTERM'));
        const samples = await load({
          rate: RATE,
          seconds: 15,
          send: (index) =>
            fetch(`${(index % 2 === 0 && ready ? leaving : staying)?.url}${ASSETS}`, { headers }),
        });
        clearInterval(probe);
        await stopping;
        const failed = samples.filter(({ status }) => status !== 200).length;
        const code = await leaving?.ended;
        return { measured: `${failed} failed, exit ${code}`, holds: failed === 0 && code === 0 };
      }),
  ],
];

const words = process.argv.slice(2).join(' ').toLowerCase();
let missed = 0;
for (const [name, line, run] of scenarios) {
  if (!name.toLowerCase().includes(words)) continue;
  const { measured, holds } = await run();
  if (!holds) missed++;
  process.stdout.write(
    `${holds ? 'holds ' : 'MISSED'}  ${name}\n        line ${line}\n        here ${measured}\n`,
  );
}
process.exitCode = missed === 0 ? 0 : 1;
