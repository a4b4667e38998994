/** Self time from a `.cpuprofile` of V8, by package or file and by function. */

export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
    readonly children?: readonly number[];
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
  /** Shares of the busy time by purpose. Work of Node and V8 counts for the code that caused it. */
  readonly stages: readonly (readonly [name: string, part: number])[];
  /** Share of the idle time in the whole time. */
  readonly idle: number;
}

const NOTHING = new Set(['(idle)', '(program)', '(root)']);

/** The stages. A function belongs to the first stage that matches its place, or else the place of its caller. */
const STAGES: readonly (readonly [place: RegExp, stage: string])[] = [
  [/^(undici|wasm:)/, 'undici'],
  [/^(rxjs|reflect-metadata|axios|@nestjs\/(core|common|axios))$/, 'Nest and rxjs'],
  [/^(fastify|find-my-way|@fastify\/.+|@nestjs\/platform-fastify)$/, 'Fastify'],
  [/^(ioredis|redis-parser|dist\/redis\/.+)$/, 'Redis client'],
  [/^(pino|sonic-boom|dist\/observability\/(log|redactor|recent-events)\.js)$/, 'log'],
  [/^dist\/observability\//, 'metrics and tracing'],
  [
    /^dist\/(shared\/json|upstream\/(wire\/|classify|gaps)|order\/order\.mapper)/,
    'strict JSON, reading, mapping',
  ],
  [/^(dist\/read-cache\/|dist\/operation\/(read|page))/, 'read cache, ETag, text of the page'],
  [/^dist\/(http|caller|validation|tenancy|operation)\//, 'hooks, callers, rates, validation'],
  [/^dist\/order-(ledger|store)\//, 'order ledger'],
  [/^dist\/(transport|upstream|token)\//, 'call of the platform'],
  [/^dist\//, 'other of the gateway'],
  [/^node:internal\/timers/, 'timers'],
  [/^node:(_http|net|events|internal\/stream)/, "Node's HTTP server, streams and sockets"],
];
const SOCKET_WRITE = /^(write\w*String|writev|writeBuffer)$/;

/** Returns the self times between two points of the profile's clock, in microseconds. */
export function selfTimes(profile: CpuProfile, from: number, to: number): SelfTimes {
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
  const parents = new Map(
    profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])),
  );
  const stages = new Map<string, number>();
  const stageOf = (id: number): string => {
    const { functionName, url } = frames.get(id) ?? { functionName: '', url: '' };
    if (url === '' && SOCKET_WRITE.test(functionName)) return 'system calls that write to sockets';
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const frame = frames.get(at);
      const place = placeOf(frame?.url ?? '', frame?.functionName ?? '');
      const known = STAGES.find(([pattern]) => pattern.test(place));
      if (known) return known[1];
    }
    return placeOf(url, functionName);
  };
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
    const stage = functionName.startsWith('(') ? place : stageOf(id);
    stages.set(stage, (stages.get(stage) ?? 0) + delta);
  }
  const ranked = (times: Map<string, number>) =>
    [...times].map(([name, time]) => [name, time / busy] as const).sort((one, other) => other[1] - one[1]);
  return {
    places: ranked(places),
    functions: ranked(functions),
    stages: ranked(stages),
    idle: idle / (busy + idle),
  };
}

/** Returns the place of a function: a package by its name, a file of the gateway by its path, work of Node and V8 by their names. */
export function placeOf(url: string, functionName: string): string {
  const installed = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
  if (installed !== undefined) return installed;
  const own = /\/dist\/(.+)$/.exec(url)?.[1];
  if (own !== undefined) return `dist/${own}`;
  if (url.startsWith('node:')) return url;
  if (functionName === '(garbage collector)') return 'garbage collection';
  return functionName === '(program)' ? 'native code outside of JavaScript' : 'built-in functions';
}
