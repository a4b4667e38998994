import { type ActName, type Acted, acts, type ImportChaosOptions } from './acts.ts';
import { ImportStage } from './stage.ts';
import { type VariantName, variants } from './variants.ts';

/** In this order. */
const ALL = Object.keys(acts) as ActName[];

export interface ImportReport {
  readonly seconds: number;
  readonly rows: number;
  /** Jobs of the crowd by their states. */
  readonly states: Readonly<Record<string, number>>;
  readonly kills: number;
  readonly redisKills: number;
  /** Calls that the platform did not answer as usual. */
  readonly spoiled: number;
  readonly took: Readonly<Partial<Record<ActName, number>>>;
  readonly violations: readonly string[];
}

/** One run. With a variant it plays the acts that must find it, up to the first violation. */
export async function runImportChaos(
  options: ImportChaosOptions,
  { variant, only }: { variant?: VariantName | undefined; only?: readonly ActName[] | undefined } = {},
): Promise<ImportReport> {
  const started = performance.now();
  const { processes, seed } = options;
  const stage = await ImportStage.set({ processes, seed, variant });
  const violations: string[] = [];
  const took: Partial<Record<ActName, number>> = {};
  let rows = 0;
  let states: Readonly<Record<string, number>> = {};
  try {
    for (const act of only ?? (variant ? variants[variant].acts : ALL)) {
      const began = performance.now();
      const acted: Acted = await acts[act](stage, options);
      took[act] = (performance.now() - began) / 1_000;
      rows += acted.rows;
      states = acted.states ?? states;
      violations.push(...acted.violations.map((each) => `${act}: ${each}`));
      if (variant && violations.length > 0) break;
    }
    violations.push(...(await stage.leaks()));
    const seconds = (performance.now() - started) / 1_000;
    const { kills, redisKills } = stage;
    const spoiled = await stage.sandbox.spoiled();
    return { seconds, rows, states, kills, redisKills, spoiled, took, violations };
  } finally {
    await stage.clear();
  }
}

/** Figures of a run in one line. */
export function figuresOf({ seconds, rows, states, kills, redisKills, spoiled, took }: ImportReport): string {
  const each = Object.entries(took).map(([act, time]) => `${act} ${time.toFixed(1)}`);
  const ends = Object.entries(states).map(([state, count]) => `${count} ${state}`);
  return (
    `${rows} rows in ${seconds.toFixed(1)} s (${each.join(', ')}); ${kills} processes killed, Redis killed ${redisKills} times, ` +
    `${spoiled} calls spoiled; jobs of the crowd: ${ends.join(', ') || 'none'}`
  );
}
