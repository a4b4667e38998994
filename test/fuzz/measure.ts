/**
 * Preloaded into a gateway (`--import`, with `--expose-gc`): on every message it collects garbage and reports the memory of the
 * process. It imports no file of the gateway.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';

export interface Measured {
  /** Bytes in use on the heap after a garbage collection. */
  readonly heapUsed: number;
  /** The same without code, which V8 compiles for a long time: a leak shows here. */
  readonly data: number;
  /** Bytes outside the heap, of buffers. */
  readonly external: number;
  /** What keeps the event loop alive, counted by kind: sockets, timers, servers. */
  readonly resources: Readonly<Record<string, number>>;
}

process.on('message', () => {
  void measure().then((measured) => process.send?.(measured));
});
// The test may end without keeping the gateway alive.
process.channel?.unref();

async function measure(): Promise<Measured> {
  // The next collection frees what the first one finalised.
  for (let times = 0; times < 3; times++) {
    await turn();
    globalThis.gc?.();
  }
  const resources: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1;
  const { heapUsed, external } = process.memoryUsage();
  const code = getHeapSpaceStatistics().filter(({ space_name }) => /code|trusted/.test(space_name));
  const data = code.reduce((rest, { space_used_size }) => rest - space_used_size, heapUsed);
  return { heapUsed, data, external, resources };
}
