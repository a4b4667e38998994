import { assertAlike } from './alike.ts';
import { type Contender, type ContenderName, contenders } from './contenders.ts';
import type { Extent } from './extent.ts';
import { Platform } from './fleet.ts';
import type { Result } from './lines.ts';
import { type Measured, next, startOfBareNest, startOfGateway, underLoad } from './measure.ts';
import { compilePeers } from './processes.ts';
import type { Run, Scenario } from './scenarios.ts';
import type { Tree } from './tree.ts';

const WARMUP_CONNECTIONS = 8;
/** The change of a request's CPU below which V8 has compiled all code for a task, in two windows in a row. */
const STEADY = 0.03;
const WINDOW_SECONDS = 2;
/** The number of requests that are enough, however fast they were. */
const WARM_REQUESTS = 50_000;
/**
 * The longest warm-up, as a factor of the least one. A process whose figures do not settle, as on a busy machine, is measured after it;
 * sooner if the process knows the task.
 */
const MAX_WARMUP = { unknown: 2, known: 0.5 };

type Rounds = Partial<Measured>[];
type Tell = (what: string) => void;

interface Copies {
  readonly run: Run;
  readonly processes: readonly Contender[];
  readonly rounds: Rounds;
}

/** Puts all contenders under load in turns, so that other load of the machine affects all of them. */
export class Stage {
  readonly #platform: Platform;
  readonly #before: Tree | undefined;
  readonly #nodeOptions: string;
  readonly #everyone = new Map<ContenderName, Promise<Contender[]>>();
  /** The kinds of tasks for which a process is warm. */
  readonly #warm = new WeakMap<Contender, Set<string>>();

  private constructor(platform: Platform, before: Tree | undefined, nodeOptions: string) {
    this.#platform = platform;
    this.#before = before;
    this.#nodeOptions = nodeOptions;
  }

  /** `before` is another commit, which scenarios may compare with this one. `nodeOptions` applies to this commit's gateway. */
  static async open(before?: Tree, nodeOptions = ''): Promise<Stage> {
    await compilePeers();
    return new Stage(await Platform.start(), before, nodeOptions);
  }

  /** Ends every process, including those that still start. */
  async close(): Promise<void> {
    const stopped = [...this.#everyone.values()].map(async (starting) => stopAll(await starting));
    await Promise.allSettled([...stopped, this.#platform.running.stop()]);
  }

  /** Plays all rounds of a scenario. Throws if a contender's response is wrong. */
  async play(scenario: Scenario, extent: Extent, tell: Tell): Promise<Result> {
    const isStart = scenario.runs.length === 0;
    const runs = await (isStart ? this.#starts(extent, tell) : this.#loads(scenario, extent, tell));
    return { scenario, runs };
  }

  async #loads(
    { runs, fresh, extent: own }: Scenario,
    usual: Extent,
    tell: Tell,
  ): Promise<{ label: string; rounds: Rounds }[]> {
    const extent = usual.warmup > 0 ? { ...usual, ...own } : usual;
    tell('starting');
    if (fresh) await this.#dismiss();
    const measured: Copies[] = [];
    for (const run of runs)
      measured.push({ run, processes: await this.#contender(run.contender, extent.processes), rounds: [] });
    await assertEqual(measured);
    if (extent.warmup > 0)
      for (const [{ run }, contender, at] of inTurns(measured, extent.processes)) {
        tell(`warming up ${run.label}, process ${at + 1}`);
        await this.#warmUp(run, contender, extent);
      }
    for (const [{ run, rounds }, contender, at] of inTurns(measured, extent.rounds)) {
      tell(`round ${at + 1} of ${extent.rounds}, ${run.label}`);
      rounds.push(await this.#turn(run, contender, extent));
    }
    if (fresh) await this.#dismiss();
    return measured.map(({ run: { label }, rounds }) => ({ label, rounds }));
  }

  #turn(
    run: Run,
    contender: Contender,
    { seconds, maxConnections }: Pick<Extent, 'seconds' | 'maxConnections'>,
  ): Promise<Partial<Measured>> {
    const connections = Math.min(run.connections, maxConnections);
    return underLoad(run.contender, contender, { ...run, connections, seconds }, this.#platform);
  }

  /** Warms a contender up at full load, even for a task with a fixed rate. */
  async #warmUp({ rate: _, ...run }: Run, contender: Contender, { warmup }: Extent): Promise<void> {
    const kind = run.task.kind === 'order' ? 'order' : `${run.task.what} ${run.task.how}`;
    const known = this.#warm.get(contender) ?? new Set<string>();
    this.#warm.set(contender, known);
    // A process must not be overloaded when it begins.
    if (known.size === 0)
      await this.#turn(run, contender, { seconds: WINDOW_SECONDS, maxConnections: WARMUP_CONNECTIONS });
    // The process knows this task, perhaps with another size.
    const [least, most] = known.has(kind)
      ? [0, MAX_WARMUP.known * warmup]
      : [warmup, MAX_WARMUP.unknown * warmup];
    known.add(kind);
    const window = { seconds: WINDOW_SECONDS, maxConnections: Infinity };
    let [steady, requests, last] = [0, 0, Infinity];
    for (let seconds = 0; seconds < most; seconds += WINDOW_SECONDS) {
      const { cpuMicros = 0, perSecond = 0 } = await this.#turn(run, contender, window);
      requests += perSecond * WINDOW_SECONDS;
      steady = Math.abs(cpuMicros / last - 1) < STEADY ? steady + 1 : 0;
      last = cpuMicros;
      if (steady >= 2 && (seconds >= least || requests >= WARM_REQUESTS)) return;
    }
  }

  async #starts({ rounds }: Extent, tell: Tell): Promise<{ label: string; rounds: Rounds }[]> {
    const [before, platform] = [this.#before, this.#platform];
    const [other, startOther] = before
      ? (['gateway, before', () => startOfGateway(platform, before)] as const)
      : (['bare Nest', startOfBareNest] as const);
    const beside: Rounds = [];
    const gateway: Rounds = [];
    for (let round = 1; round <= rounds; round++) {
      tell(`round ${round} of ${rounds}`);
      beside.push(await startOther());
      gateway.push(await startOfGateway(platform));
    }
    return [
      { label: other, rounds: beside },
      { label: 'gateway', rounds: gateway },
    ];
  }

  #contender(name: ContenderName, processes: number): Promise<Contender[]> {
    const known = this.#everyone.get(name) ?? this.#started(name, processes);
    this.#everyone.set(name, known);
    return known;
  }

  async #started(name: ContenderName, processes: number): Promise<Contender[]> {
    const all: Contender[] = [];
    const how = name === 'gateway' ? { nodeOptions: this.#nodeOptions } : {};
    for (let index = 0; index < processes; index++)
      all.push(await contenders[name](this.#platform, how, this.#before));
    return all;
  }

  /** Ends all contenders. The next scenario gets processes that have done no other work, and no process runs without being measured. */
  async #dismiss(): Promise<void> {
    const everyone = [...this.#everyone.values()];
    this.#everyone.clear();
    for (const starting of everyone) await stopAll(await starting);
  }
}

/** Throws if the floor does not answer as the gateway does, because it would not do the gateway's work. */
async function assertEqual(measured: readonly Copies[]): Promise<void> {
  const of = (name: ContenderName) => measured.find(({ run }) => run.contender === name);
  const [gateway, floor] = [of('gateway'), of('floor')];
  if (!gateway?.processes[0] || !floor) return;
  for (const process of floor.processes)
    await assertAlike(gateway.processes[0], process, floor.run.task, next);
}

/**
 * Yields one run after the other, and then in reverse, because the first or last would have an advantage of some percent. Each time it uses
 * the next process.
 */
function* inTurns(
  all: readonly Copies[],
  times: number,
): Generator<[each: Copies, contender: Contender, at: number]> {
  for (let at = 0; at < times; at++)
    for (const each of at % 2 === 0 ? all : all.toReversed())
      yield [each, each.processes[at % each.processes.length] as Contender, at];
}

async function stopAll(all: readonly Contender[]): Promise<void> {
  await Promise.all(all.map(({ running }) => running.stop()));
}
