/** Preloaded into a gateway (`--import`) to disturb it when the test sends a message. It imports no file of the gateway. */
import dns from 'node:dns';
import { isIP } from 'node:net';
import { setFlagsFromString, getHeapSpaceStatistics } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { leakShapes } from './leak-shapes.ts';

export type Disturbance =
  /** The wall clock steps by so many ms; the monotonic one does not. */
  | { readonly clock: number }
  /**
   * The monotonic clock is put forward to this many ms beyond the true one. To the gateway that is one late turn of its event loop, of
   * which three in a row are an overload; `settled`: it is done when the gateway has seen that it is on time again.
   */
  | { readonly uptime: number; readonly settled?: boolean }
  /** The event loop blocks for this many ms, this often. */
  | { readonly block: number; readonly times: number }
  /** Long-lived objects fill the heap up to this many MiB; 0 releases them. */
  | { readonly heap: number }
  /** Every object inherits these from now on. */
  | { readonly pollute: Readonly<Record<string, unknown>> }
  /** These names lead to these addresses from now on. */
  | { readonly names: Readonly<Record<string, string>> }
  /** The process gets these environment variables. */
  | { readonly environment: Readonly<Record<string, string>> }
  /** An uncaught error with a secret in that shape (leak-shapes.ts). */
  | { readonly fail: 'exception' | 'rejection'; readonly secret: string; readonly shape: string };

/** The gateway looks every 250 ms whether its event loop is late: at the second look after a step it is not. */
const ON_TIME_AGAIN_MS = 501;

let shift = 0;
let uptime = 0;
let kept: unknown[] = [];
const trueNow = Date.now.bind(Date);

class SteppedDate extends Date {
  constructor(...args: [] | ConstructorParameters<typeof Date>) {
    if (args.length === 0) super(SteppedDate.now());
    else super(...args);
  }

  static override now(): number {
    return trueNow() + shift;
  }
}
globalThis.Date = SteppedDate as DateConstructor;
const trueUptime = performance.now.bind(performance);
performance.now = () => trueUptime() + uptime;

let names: Readonly<Record<string, string>> = {};
const trueLookup = dns.lookup;
dns.lookup = ((name: string, options: dns.LookupOptions, callback: (...found: unknown[]) => void) => {
  const address = names[name];
  if (address === undefined) return trueLookup(name, options, callback as never);
  const found = { address, family: isIP(address) };
  return callback(null, ...(options.all ? [[found]] : [address, found.family]));
}) as typeof dns.lookup;

process.on('message', (what: Disturbance) => {
  if ('clock' in what) shift = what.clock;
  else if ('uptime' in what) {
    uptime = what.uptime;
    if (what.settled) return void setTimeout(() => process.send?.('done'), ON_TIME_AGAIN_MS);
  } else if ('block' in what) block(what.block, what.times);
  else if ('heap' in what) fill(what.heap);
  else if ('names' in what) names = what.names;
  else if ('environment' in what) Object.assign(process.env, what.environment);
  else if ('pollute' in what) pollute(what.pollute);
  else fail(what.fail, leakShapes(what.secret)[what.shape]);
  process.send?.('done');
});
// The test may end without keeping the gateway alive.
process.channel?.unref();

function block(ms: number, times: number): void {
  if (times === 0) return;
  const until = performance.now() + ms;
  while (performance.now() < until);
  // The event loop turns a few times between two blocks, so that some requests get responses.
  setTimeout(() => block(ms, times - 1), 5);
}

function fill(mib: number): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  if (mib === 0) {
    kept = [];
    collect();
    return;
  }
  // Measures again after a collection of the earlier garbage.
  for (let round = 0; round < 100 && used() < mib; round++) {
    // Large enough for V8 to place them in the old space.
    while (used() < mib) kept.push(Array.from({ length: 100_000 }, () => kept.length));
    collect();
  }
}

function used(): number {
  const spaces = getHeapSpaceStatistics().filter(({ space_name }) => !space_name.startsWith('new_'));
  return spaces.reduce((sum, { space_used_size }) => sum + space_used_size, 0) / (1024 * 1024);
}

function pollute(members: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(members)) {
    // eslint-disable-next-line no-extend-native -- it is what attackers do
    Object.defineProperty(Object.prototype, name, { value, writable: true, configurable: true });
  }
}

function fail(how: 'exception' | 'rejection', failure: unknown): void {
  if (how === 'rejection') void Promise.reject(failure);
  else
    setTimeout(() => {
      throw failure;
    });
}
