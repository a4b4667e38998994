/** Self time from a `.cpuprofile` of V8, by package or file and by function. */

export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  /** Microseconds of the clock that `process.hrtime` reads. */
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

export interface SelfTimes {
  /** Shares of the busy time, the largest first. */
  readonly places: readonly (readonly [name: string, part: number])[];
  readonly functions: readonly (readonly [name: string, part: number])[];
  /** Share of the idle time in the whole time. */
  readonly idle: number;
}

const NOTHING = new Set(['(idle)', '(program)', '(root)']);

/** Between two points of the profile's clock, in microseconds. */
export function selfTimes(profile: CpuProfile, from: number, to: number): SelfTimes {
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
  const places = new Map<string, number>();
  const functions = new Map<string, number>();
  let busy = 0;
  let idle = 0;
  let clock = profile.startTime;
  for (const [index, id] of profile.samples.entries()) {
    const delta = profile.timeDeltas[index] ?? 0;
    clock += delta;
    const frame = frames.get(id);
    if (clock < from || clock > to || !frame) continue;
    const { functionName, url, lineNumber } = frame;
    if (functionName === '(idle)') idle += delta;
    if (NOTHING.has(functionName) && functionName !== '(program)') continue;
    busy += delta;
    const place = placeOf(url, functionName);
    const name = `${functionName || '(anonymous)'}  ${place}${url === '' ? '' : `:${lineNumber + 1}`}`;
    places.set(place, (places.get(place) ?? 0) + delta);
    functions.set(name, (functions.get(name) ?? 0) + delta);
  }
  const ranked = (times: Map<string, number>) =>
    [...times].map(([name, time]) => [name, time / busy] as const).sort((one, other) => other[1] - one[1]);
  return { places: ranked(places), functions: ranked(functions), idle: idle / (busy + idle) };
}

/** A package by its name, a file of the gateway by its path, work of Node and V8 by their names. */
function placeOf(url: string, functionName: string): string {
  const installed = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
  if (installed !== undefined) return installed;
  const own = /\/dist\/(.+)$/.exec(url)?.[1];
  if (own !== undefined) return `dist/${own}`;
  if (url.startsWith('node:')) return url;
  if (functionName === '(garbage collector)') return 'garbage collection';
  return functionName === '(program)' ? 'native code outside of JavaScript' : 'built-in functions';
}
