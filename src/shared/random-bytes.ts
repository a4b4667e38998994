import { randomFillSync } from 'node:crypto';

/** The bytes that are generated at once. The generator takes about as long for this many as for one nonce. */
const PAGE_BYTES = 4_096;
const page = Buffer.alloc(PAGE_BYTES);
let used = PAGE_BYTES;

/**
 * Returns bytes of the operating system's generator (CSPRNG), each byte once. Use them for nonces and vectors, not for keys, because the
 * bytes lie in memory before their use.
 */
export function freshBytes(count: number): Buffer {
  return taken(count, (from, to) => Buffer.from(page.subarray(from, to)));
}

/** Returns random bytes as hex digits, two for each byte. */
export function freshHex(count: number): string {
  return taken(count, (from, to) => page.toString('hex', from, to));
}

function taken<T>(count: number, copied: (from: number, to: number) => T): T {
  if (used + count > PAGE_BYTES) {
    randomFillSync(page);
    used = 0;
  }
  const copy = copied(used, used + count);
  page.fill(0, used, used + count);
  used += count;
  return copy;
}
