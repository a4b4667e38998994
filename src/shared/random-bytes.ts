import { randomFillSync } from 'node:crypto';

/** Asking for a page costs about as much as asking for the few bytes of one nonce. */
const PAGE_BYTES = 4_096;
const page = Buffer.alloc(PAGE_BYTES);
let used = PAGE_BYTES;

/** Bytes of the operating system's generator (CSPRNG), each given out once. For nonces and vectors, not for keys: they lie in memory before. */
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
