import { placeOf } from './cpu-profile.ts';
import type { Inspector } from './inspector.ts';

/** Measures the allocations of requests with V8's sampling heap profiler, including memory that was collected in the meantime. */

interface Node {
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly selfSize: number;
  readonly children: readonly Node[];
}

export interface Allocations {
  /** Bytes of each request by place, the largest first. */
  readonly places: readonly (readonly [name: string, bytes: number])[];
  readonly sites: readonly (readonly [name: string, bytes: number])[];
  readonly bytes: number;
}

const INTERVAL = 8_192;

/**
 * Measures while `work` runs, which resolves to the number of requests. `old` counts only memory that collections of young objects have
 * left.
 */
export async function allocationsOf(
  inspector: Inspector,
  work: () => Promise<number>,
  old = false,
): Promise<Allocations> {
  await inspector.call('HeapProfiler.startSampling', {
    samplingInterval: INTERVAL,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: !old,
  });
  const requests = await work();
  const { profile } = (await inspector.call('HeapProfiler.stopSampling')) as { profile: { head: Node } };
  const places = new Map<string, number>();
  const sites = new Map<string, number>();
  let bytes = 0;
  const visit = ({ callFrame, selfSize, children }: Node, caller: string): void => {
    const { functionName, url, lineNumber } = callFrame;
    const place = placeOf(url, functionName);
    const name = functionName || '(anonymous)';
    // A built-in function counts for its caller.
    const site = url === '' ? `${name} in ${caller}` : `${name}  ${place}:${lineNumber + 1}`;
    bytes += selfSize;
    places.set(place, (places.get(place) ?? 0) + selfSize);
    sites.set(site, (sites.get(site) ?? 0) + selfSize);
    for (const child of children) visit(child, url === '' ? caller : site);
  };
  visit(profile.head, 'V8');
  const ranked = (all: Map<string, number>) =>
    [...all].map(([name, size]) => [name, size / requests] as const).sort((one, other) => other[1] - one[1]);
  return { places: ranked(places), sites: ranked(sites), bytes: bytes / requests };
}
