import { expect, it } from '@jest/globals';
import { SteppedClock } from './clock-shim.ts';
import { endings } from './endings.ts';
import { ask, startRedis } from './redis.ts';

const { ended } = endings();
const HOUR_MS = 3_600_000;

it('puts the wall clock of a running server forward and back, by which keys expire', async () => {
  const clock = ended(SteppedClock.make());
  const server = ended(await startRedis([], undefined, clock.environment));
  const ahead = () =>
    ask(server, async (client) => {
      const script = "local now = redis.call('TIME') return now[1] * 1000 + math.floor(now[2] / 1000)";
      return (Number(await client.eval(script, 0)) - Date.now()) / HOUR_MS;
    });
  expect(await ahead()).toBeCloseTo(0, 2);
  for (const hours of [405 * 24, -0.25, 0]) {
    clock.step(hours * HOUR_MS);
    expect(await ahead()).toBeCloseTo(hours, 2);
  }
  await ask(server, async (client) => {
    await client.set('short', 1, 'PX', HOUR_MS);
    expect(await client.get('short')).toBe('1');
    clock.step(2 * HOUR_MS);
    expect(await client.get('short')).toBeNull();
  });
});
