import { beforeEach, describe, expect, it } from '@jest/globals';
import { AdmissionQueue, type Asker } from './admission-queue.ts';

const CRM: Asker = { name: 'crm' };
const WEB: Asker = { name: 'web' };

/** An event loop of which only this is going on, where time passes by work alone. */
class Loop {
  now = 0;
  readonly queue = new AdmissionQueue(
    () => this.now,
    (go) => this.#immediates.push(go),
    (go, ms) => this.#timers.push({ go, at: this.now + ms }),
  );
  #immediates: (() => void)[] = [];
  #timers: { go: () => void; at: number }[] = [];

  admit(begin: () => unknown, asker: Asker = CRM, refuse: () => unknown = () => undefined): boolean {
    return this.queue.admit({ asker, begin, refuse });
  }

  /** What setImmediate has for this turn. */
  check(): void {
    const due = this.#immediates;
    this.#immediates = [];
    for (const each of due) each();
  }

  /** Time passes, in turns of half a millisecond. */
  pass(ms: number): void {
    for (const end = this.now + ms; this.now < end; this.now += 0.5) {
      const due = this.#timers.filter(({ at }) => at <= this.now);
      this.#timers = this.#timers.filter(({ at }) => at > this.now);
      for (const { go } of due) go();
      this.check();
    }
  }
}

describe('a turn', () => {
  let loop: Loop;
  let begun: string[];
  const take = (name: string, ms: number, asker = CRM) =>
    loop.admit(() => {
      begun.push(name);
      loop.now += ms;
    }, asker);
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

  it('begins more of the rest than the one before, as long as whole turns are short', () => {
    take('a', 20);
    for (let count = 0; count < 30; count++) take('b', 0);
    const counts = (turns: number, later: number) =>
      Array.from({ length: turns }, () => {
        const before = begun.length;
        loop.check();
        // Work of this turn that is not a beginning: bodies, responses of the platform.
        loop.now += later;
        return begun.length - before;
      });
    expect(counts(4, 1)).toEqual([1, 2, 3, 4]);
    expect(counts(4, 10)).toEqual([5, 3, 2, 1]);
    loop.queue.connected();
    loop.check();
    expect(counts(2, 1)).toEqual([2, 3]);
  });

  it('ends when the beginnings of the rest take its time', () => {
    take('a', 20);
    for (let count = 0; count < 20; count++) take('b', 4);
    for (const then of [2, 4, 7]) {
      loop.check();
      expect(begun.length).toBe(then);
    }
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

  it('K31 begins the waiting requests of callers in turns, so that many of one do not delay the others', () => {
    take('a', 20);
    for (const name of ['b', 'c', 'd']) take(name, 1);
    take('w', 1, WEB);
    for (let turn = 0; turn < 5; turn++) loop.check();
    expect(begun.join('')).toBe('abwcd');
  });
});

describe('K40 a request of a stranger', () => {
  let loop: Loop;
  let begun: string[];
  const take = (name: string, asker: Asker, ms = 6) =>
    loop.admit(() => {
      begun.push(name);
      loop.now += ms;
    }, asker);
  beforeEach(() => {
    loop = new Loop();
    begun = [];
  });

  it('begins when no known caller waits, one in a turn, and one for health beside them', () => {
    for (const name of ['a', 'b', 'c', 'd']) take(name, CRM);
    for (const name of ['s', 't']) take(name, 'stranger');
    for (const name of ['h', 'i']) take(name, 'probe');
    expect(begun).toEqual(['a', 'b']);
    for (const then of ['abhc', 'abhcid', 'abhcids', 'abhcidst']) {
      loop.check();
      expect(begun.join('')).toBe(then);
    }
  });

  it('begins once in 2 ms, so that a flood of them takes a small part of the process', () => {
    for (let count = 0; count < 1_000; count++) take('s', 'stranger', 0.1);
    loop.pass(100);
    expect(begun.length).toBeGreaterThan(40);
    expect(begun.length).toBeLessThanOrEqual(51);
    loop.pass(2_000);
    expect(begun.length).toBe(1_000);
  });

  it('of which the client has hung up takes no turn', () => {
    take('a', 'stranger', 0);
    for (let count = 0; count < 500; count++) loop.admit(() => false, 'stranger');
    take('b', 'stranger', 0);
    loop.pass(3);
    expect(begun).toEqual(['a', 'b']);
  });

  it('is refused at once where a thousand wait', () => {
    for (let count = 0; count <= 1_000; count++) expect(take('s', 'stranger', 0)).toBe(true);
    expect(take('s', 'stranger')).toBe(false);
    expect(take('a', CRM)).toBe(true);
    loop.check();
    expect(take('s', 'stranger', 0)).toBe(true);
  });

  it('is refused when it has waited for a second while known callers wait too, one in 2 ms', () => {
    let refused = 0;
    const refuse = () => refused++;
    const wait = () => undefined;
    take('a', CRM, 20);
    for (let count = 0; count < 5; count++) loop.admit(wait, 'stranger', refuse);
    const keepBusy = (ms: number) => {
      for (const end = loop.now + ms; loop.now < end; loop.check())
        for (let count = 0; count < 12; count++) take('a', CRM, 1);
    };
    keepBusy(900);
    expect(refused).toBe(0);
    keepBusy(100);
    expect(refused).toBe(0);
    keepBusy(12);
    expect(refused).toBeGreaterThan(0);
    expect(refused).toBeLessThan(5);
    keepBusy(60);
    expect(refused).toBe(5);
    expect(loop.queue.isOverloaded).toBe(false);
  });
});

describe('K40 a health probe', () => {
  it('is refused where a thousand repeated ones wait, and another still begins', () => {
    const loop = new Loop();
    const wait = () => undefined;
    for (let count = 0; count <= 1_000; count++) expect(loop.admit(wait, 'repeated-probe')).toBe(true);
    expect(loop.admit(wait, 'repeated-probe')).toBe(false);
    let begun = 0;
    expect(loop.admit(() => begun++, 'probe')).toBe(true);
    loop.check();
    expect(begun).toBe(1);
  });
});

it.each([
  ['K40 a health probe that is repeated too soon', 'repeated-probe'],
  ['K38 a 401 to a client that still sends its body', 'unread'],
] as const)('%s begins once in 4 ms, beside strangers, also while callers wait', (_, asker) => {
  const loop = new Loop();
  let begun = 0;
  for (let count = 0; count < 500; count++) loop.admit(() => begun++, asker);
  loop.pass(200);
  expect(begun).toBeGreaterThan(40);
  expect(begun).toBeLessThanOrEqual(51);
  for (const end = loop.now + 100; loop.now < end; loop.check())
    for (let count = 0; count < 12; count++) loop.admit(() => (loop.now += 1));
  expect(begun).toBeGreaterThan(55);
  loop.pass(4_000);
  expect(begun).toBe(500);
});

it('K31 a caller that sends more than can be served waits for a moment, and beyond that is refused: no other one is, and itself not right after', () => {
  const loop = new Loop();
  let waited: number[] = [];
  const arrive = () => {
    const at = loop.now;
    return loop.admit(() => {
      waited.push(loop.now - at);
      loop.now += 3;
    });
  };
  /** Seven requests in each turn, of which four can be served: how many are refused. */
  const flood = (ms: number): number => {
    let refused = 0;
    for (const end = loop.now + ms; loop.now < end; loop.check())
      for (let count = 0; count < 7; count++) if (!arrive()) refused++;
    return refused;
  };
  expect([flood(3_500), loop.queue.isOverloaded]).toEqual([0, false]);
  expect([flood(6_000) > 0, loop.queue.isOverloaded]).toEqual([true, true]);
  waited = [];
  flood(5_000);
  // What it begins is as much as without a flood.
  expect(waited.length).toBeGreaterThan(0.9 * (5_000 / 3));
  expect(Math.max(...waited)).toBeLessThan(250);
  const from = loop.now;
  let webAt = Infinity;
  expect(loop.admit(() => (webAt = loop.now), WEB)).toBe(true);
  loop.pass(2_100);
  expect(webAt - from).toBeLessThan(50);
  expect([arrive(), loop.queue.isOverloaded]).toEqual([true, false]);
});
