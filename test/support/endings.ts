import { afterEach } from '@jest/globals';

interface Endings {
  /** Hands on what was started, and stops it after the test. */
  readonly ended: <T extends { stop(): unknown }>(started: T) => T;
  /** Has something done after the test. */
  readonly atEnd: (end: () => unknown) => void;
}

/** What a test of this file starts ends with it, the youngest first. To be called at the top of the file, once. */
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
