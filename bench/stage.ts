import { type Contender, type ContenderName, contenders, Platform } from './contenders.ts';
import type { Result } from './lines.ts';
import { type Measured, startOfBareNest, startOfGateway, underLoad } from './measure.ts';
import { compilePeers } from './processes.ts';
import type { Run, Scenario } from './scenarios.ts';

export interface Extent {
  readonly rounds: number;
  /** Seconds of load in each round, and before the first. */
  readonly seconds: number;
  readonly warmup: number;
  /** Fewer where slow machines must not be overloaded. */
  readonly maxConnections: number;
}

const WARMUP_CONNECTIONS = 8;
/** A new process is warmed up this many times as long as one that gets another task. */
const COLD = 4;

type Rounds = Partial<Measured>[];
type Tell = (what: string) => void;

/** All contenders at once, under load in turns, so that other load of the machine hits all of them. */
export class Stage {
  readonly #platform: Platform;
  readonly #everyone = new Map<ContenderName, Promise<Contender>>();
  readonly #warm = new WeakSet<object>();

  private constructor(platform: Platform) {
    this.#platform = platform;
  }

  static async open(): Promise<Stage> {
    compilePeers();
    return new Stage(await Platform.start());
  }

  /** Ends every process, also those that still start. */
  async close(): Promise<void> {
    const stopped = [...this.#everyone.values()].map(async (starting) => (await starting).running.stop());
    await Promise.allSettled([...stopped, this.#platform.running.stop()]);
  }

  /** All rounds of a scenario. Throws when a contender's response is wrong. */
  async play(scenario: Scenario, extent: Extent, tell: Tell): Promise<Result> {
    const isStart = scenario.runs.length === 0;
    const runs = await (isStart ? this.#starts(extent, tell) : this.#loads(scenario, extent, tell));
    return { scenario, runs };
  }

  contender(name: ContenderName): Promise<Contender> {
    const known = this.#everyone.get(name) ?? contenders[name](this.#platform);
    this.#everyone.set(name, known);
    return known;
  }

  async #loads(
    { runs, fresh }: Scenario,
    extent: Extent,
    tell: Tell,
  ): Promise<{ label: string; rounds: Rounds }[]> {
    tell('starting');
    if (fresh) await this.#dismiss(runs);
    await Promise.all(runs.map(({ contender }) => this.contender(contender)));
    const turn = async (run: Run, seconds: number, maxConnections = extent.maxConnections) => {
      const connections = Math.min(run.connections, maxConnections);
      const contender = await this.contender(run.contender);
      return underLoad(run.contender, contender, { ...run, connections, seconds }, this.#platform);
    };
    for (const run of extent.warmup > 0 ? runs : []) {
      tell(`warming up ${run.label}`);
      const { running } = await this.contender(run.contender);
      // Each process has code to compile, and must not be overloaded when it begins.
      const seconds = extent.warmup * running.pids.length;
      await turn(run, seconds, WARMUP_CONNECTIONS);
      if (!this.#warm.has(running)) await turn(run, seconds * (COLD - 1));
      this.#warm.add(running);
    }
    const measured = runs.map(({ label }) => ({ label, rounds: [] as Rounds }));
    for (let round = 1; round <= extent.rounds; round++) {
      for (const [index, run] of runs.entries()) {
        tell(`round ${round} of ${extent.rounds}, ${run.label}`);
        measured[index]?.rounds.push(await turn(run, extent.seconds));
      }
    }
    return measured;
  }

  async #starts({ rounds }: Extent, tell: Tell): Promise<{ label: string; rounds: Rounds }[]> {
    const bare: Rounds = [];
    const gateway: Rounds = [];
    for (let round = 1; round <= rounds; round++) {
      tell(`round ${round} of ${rounds}`);
      bare.push(await startOfBareNest());
      gateway.push(await startOfGateway(this.#platform));
    }
    return [
      { label: 'bare Nest', rounds: bare },
      { label: 'gateway', rounds: gateway },
    ];
  }

  async #dismiss(runs: readonly Run[]): Promise<void> {
    for (const { contender } of runs) {
      const known = await this.#everyone.get(contender);
      this.#everyone.delete(contender);
      await known?.running.stop();
    }
  }
}
