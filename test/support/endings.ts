import { afterEach } from '@jest/globals';

interface Endings {
  /** Returns its argument, and stops it after the test. */
  readonly ended: <T extends { stop(): unknown }>(started: T) => T;
  /** Runs a function after the test. */
  readonly atEnd: (end: () => unknown) => void;
}

/** Ends everything that a test of this file starts, the youngest first. Call it once, at the top of the file. */
export function endings(): Endings {
  const ends: (() => unknown)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });
  return {
    ended: (started) => {
      ends.push(() => started.stop());
      return started;
    },
    atEnd: (end) => ends.push(end),
  };
}
