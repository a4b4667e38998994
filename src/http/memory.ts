import { totalmem } from 'node:os';
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** V8's space for young objects, which its limit includes, and which cannot be used for anything else: three semi-spaces. */
const YOUNG_BYTES = 3 * 64 * 1024 * 1024;

/** What the process may have: the limit of its cgroup, else all that the machine has. */
export function memoryLimit(): number {
  // Without a limit Node gives 0, or a number beyond any machine.
  return Math.min(process.constrainedMemory() || Infinity, totalmem());
}

/** Which part of the heap for objects that stay is in use. Beyond 1 the process ends. */
export function usedHeapShare(): number {
  const { heap_size_limit: limit } = getHeapStatistics();
  const used = getHeapSpaceStatistics()
    .filter(({ space_name }) => !space_name.startsWith('new_'))
    .reduce((sum, { space_used_size }) => sum + space_used_size, 0);
  // Half where the operator made that space smaller: too early is better than never.
  return used / Math.max(limit - YOUNG_BYTES, limit / 2);
}

/**
 * Which part of its memory the process cannot do without: everything that is resident, buffers and V8's garbage included, but for the
 * pages that V8 keeps for objects to come. Beyond 1 the system ends the process.
 */
export function usedMemoryShare(limit = memoryLimit()): number {
  const { rss, heapTotal, heapUsed } = process.memoryUsage();
  return (rss - (heapTotal - heapUsed)) / limit;
}

/** Has V8 collect all garbage now, which Node offers no other way to. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}
