import { beforeEach, describe, expect, it } from '@jest/globals';
import { AdmissionQueue, type Asker } from './admission-queue.ts';

/** An event loop of which only this is going on, where time passes by work alone. */
class Loop {
  now = 0;
  readonly queue = new AdmissionQueue(
    () => this.now,
    (go) => this.#immediates.push(go),
  );
  #immediates: (() => void)[] = [];

  /** What setImmediate has for this turn. */
  check(): void {
    const due = this.#immediates;
    this.#immediates = [];
    for (const each of due) each();
  }
}

interface Load {
  /** Requests a second, from second to second. */
  readonly rate: number;
  readonly from: number;
  readonly to: number;
}

interface Sample {
  readonly at: number;
  readonly ms: number;
  readonly isServed: boolean;
}

const SERVE_MS = 3;
const REFUSE_MS = 0.1;

/** Requests of 3 ms each, read off their connections once a turn: at most 333 of them a second can be served. */
function simulate(...loads: readonly Load[]): Sample[] {
  const loop = new Loop();
  const arrivals = loads.flatMap(({ rate, from, to }) =>
    Array.from({ length: rate * (to - from) }, (_, index) => (from + index / rate) * 1_000),
  );
  const samples: Sample[] = [];
  let next = 0;
  while (samples.length < arrivals.length) {
    const polled = loop.now;
    while (next < arrivals.length && (arrivals[next] as number) <= polled) {
      const at = arrivals[next++] as number;
      const isTaken = loop.queue.admit(() => {
        loop.now += SERVE_MS;
        samples.push({ at, ms: loop.now - at, isServed: true });
      });
      if (isTaken) continue;
      loop.now += REFUSE_MS;
      samples.push({ at, ms: loop.now - at, isServed: false });
    }
    loop.check();
    if (loop.now === polled) loop.now += 0.5;
  }
  return samples;
}

const within = (samples: readonly Sample[], from: number, to: number) =>
  samples.filter(({ at }) => at >= from * 1_000 && at < to * 1_000);
const slowest = (samples: readonly Sample[]) => Math.max(...samples.map(({ ms }) => ms));

describe('a turn', () => {
  let loop: Loop;
  let begun: string[];
  const take = (name: string, ms: number) =>
    loop.queue.admit(() => {
      begun.push(name);
      loop.now += ms;
    });
  beforeEach(() => {
    loop = new Loop();
    begun = [];
  });

  it('begins what arrives until its time is over, and one of the rest in each of the next', () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) expect(take(name, 6)).toBe(true);
    expect(begun).toEqual(['a', 'b']);
    loop.check();
    expect(begun).toEqual(['a', 'b', 'c']);
    take('f', 1);
    for (let turn = 0; turn < 5; turn++) loop.check();
    expect(begun.join('')).toBe('abcdef');
  });

  it('in which a client connected begins nothing, for ten in a row at most', () => {
    for (const name of ['a', 'b', 'c', 'd']) take(name, 20);
    loop.queue.connected();
    loop.check();
    expect(begun.join('')).toBe('a');
    loop.check();
    expect(begun.join('')).toBe('ab');
    for (let turn = 0; turn < 10; turn++) {
      loop.queue.connected();
      loop.check();
    }
    expect(begun.join('')).toBe('ab');
    loop.queue.connected();
    loop.check();
    expect(begun.join('')).toBe('abc');
  });

  it('begins what callers wait for although a client connected, when accepting has taken as long as the last of them', () => {
    for (const name of ['a', 'b', 'c']) take(name, 20);
    const accept = (ms: number) => {
      loop.queue.connected();
      loop.now += ms;
      loop.check();
    };
    for (const then of ['a', 'a', 'a', 'ab', 'ab', 'ab', 'ab', 'abc']) {
      accept(5);
      expect(begun.join('')).toBe(then);
    }
  });

  it('has its whole time again when the last one left nothing', () => {
    take('a', 20);
    loop.check();
    take('b', 20);
    expect(begun).toEqual(['a', 'b']);
  });
});

describe('K40 a request of a stranger', () => {
  let loop: Loop;
  let begun: string[];
  const take = (name: string, asker: Asker, ms = 6) =>
    loop.queue.admit(() => {
      begun.push(name);
      loop.now += ms;
    }, asker);
  beforeEach(() => {
    loop = new Loop();
    begun = [];
  });

  it('begins when no known caller waits, one in a turn, and one for health beside them', () => {
    for (const name of ['a', 'b', 'c', 'd']) take(name, 'caller');
    for (const name of ['s', 't']) take(name, 'stranger');
    for (const name of ['h', 'i']) take(name, 'probe');
    expect(begun).toEqual(['a', 'b']);
    for (const then of ['abhc', 'abhcid', 'abhcids', 'abhcidst']) {
      loop.check();
      expect(begun.join('')).toBe(then);
    }
  });

  it('does not make one of a known caller wait that arrives later', () => {
    for (let count = 0; count < 100; count++) take('s', 'stranger');
    take('a', 'caller');
    expect(begun.join('')).toBe('sa');
  });

  it('is refused when a thousand wait, or when the first has waited for a second', () => {
    for (let count = 0; count <= 1_000; count++) expect(take('s', 'stranger', 0)).toBe(true);
    expect(take('s', 'stranger')).toBe(false);
    expect(take('a', 'caller')).toBe(true);
    loop.check();
    expect(take('s', 'stranger', 0)).toBe(true);
    loop.check();
    loop.now += 1_001;
    expect(take('s', 'stranger')).toBe(false);
    expect(loop.queue.isOverloaded).toBe(false);
  });
});

describe('turns', () => {
  it('serve all of a load below their capacity at once', () => {
    const samples = simulate({ rate: 300, from: 0, to: 20 });
    expect(samples.every(({ isServed }) => isServed)).toBe(true);
    expect(slowest(samples)).toBeLessThan(20);
  });

  it('serve all of a crowd, however long that takes', () => {
    const samples = simulate({ rate: 2_000, from: 0, to: 1 });
    expect(samples.every(({ isServed }) => isServed)).toBe(true);
    expect(slowest(samples)).toBeGreaterThan(4_000);
  });

  it('under twice what they can serve go on serving that, refuse the rest at once, and are themselves right after', () => {
    const samples = simulate({ rate: 667, from: 0, to: 30 }, { rate: 200, from: 30, to: 35 });
    const busy = within(samples, 10, 30);
    const served = busy.filter(({ isServed }) => isServed);
    expect(served.length / 20).toBeGreaterThan(0.9 * (1_000 / SERVE_MS));
    expect(slowest(served)).toBeLessThan(250);
    const refused = samples.filter(({ isServed }) => !isServed);
    expect(slowest(refused)).toBeLessThan(50);
    const after = within(samples, 31, 35);
    expect(after.every(({ isServed, ms }) => isServed && ms < 50)).toBe(true);
  });

  it('say so while they refuse, and for a moment longer', () => {
    const loop = new Loop();
    const work = () => (loop.now += 100);
    const isOverloaded = () => loop.queue.isOverloaded;
    let refused = 0;
    while (refused === 0 && loop.now < 60_000) {
      for (let count = 0; count < 3; count++) if (!loop.queue.admit(work)) refused++;
      expect(isOverloaded()).toBe(refused > 0);
      loop.check();
    }
    expect(refused).toBeGreaterThan(0);
    for (let turn = 0; turn < 1_000; turn++) loop.check();
    loop.now += 2_000;
    expect(isOverloaded()).toBe(false);
    expect(loop.queue.admit(work)).toBe(true);
  });
});
