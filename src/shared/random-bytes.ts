import { randomFillSync } from 'node:crypto';

/** The generator needs about as long for a page as for the few bytes of one nonce. */
const PAGE_BYTES = 4_096;
const page = Buffer.alloc(PAGE_BYTES);
let used = PAGE_BYTES;

/**
 * Bytes of the operating system's generator (CSPRNG), each returned once. Use them for nonces and vectors, not for keys: they wait
 * in memory before use.
 */
export function freshBytes(count: number): Buffer {
  if (used + count > PAGE_BYTES) {
    randomFillSync(page);
    used = 0;
  }
  const bytes = Buffer.from(page.subarray(used, used + count));
  page.fill(0, used, used + count);
  used += count;
  return bytes;
}
