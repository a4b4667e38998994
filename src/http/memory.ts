import { totalmem } from 'node:os';
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';

const MIB = 1024 * 1024;
/** V8's space for young objects: three semi-spaces. V8's heap limit includes it, and it can hold nothing else. */
const YOUNG_BYTES = 3 * semiSpaceMiB([...process.execArgv, process.env['NODE_OPTIONS'] ?? '']) * MIB;

/** The size that Node's options set, or else the largest that V8 takes by itself. */
function semiSpaceMiB(options: readonly string[]): number {
  return Number(/--max-semi-space-size=(\d+)/.exec(options.join(' '))?.[1] ?? 64);
}

/** The memory limit of the process: that of its cgroup, or else all memory of the machine. */
export function memoryLimit(): number {
  // Without a limit Node returns 0, or a number larger than any machine has.
  return Math.min(process.constrainedMemory() || Infinity, totalmem());
}

/** The used share of the heap for old objects. Beyond 1 the process ends. */
export function usedHeapShare(): number {
  const { heap_size_limit: limit } = getHeapStatistics();
  const used = getHeapSpaceStatistics()
    .filter(({ space_name }) => !space_name.startsWith('new_'))
    .reduce((sum, { space_used_size }) => sum + space_used_size, 0);
  // If the operator made the space for young objects smaller, this is half of it: better too early than never.
  return used / Math.max(limit - YOUNG_BYTES, limit / 2);
}

/**
 * The share of its memory that the process needs: all resident memory, with buffers and V8's garbage, except for the free pages that V8
 * keeps for new objects. Beyond 1 the system ends the process.
 */
export function usedMemoryShare(limit = memoryLimit()): number {
  const { rss, heapTotal, heapUsed } = process.memoryUsage();
  return (rss - (heapTotal - heapUsed)) / limit;
}
