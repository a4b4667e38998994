import { acts, type ActName } from './acts.ts';
import type { Violation } from './check.ts';
import type { ChaosOptions } from './plan.ts';
import { Stage } from './stage.ts';
import type { VariantName } from './variants.ts';

/** In this order; the last one leaves a stopped store. */
const ALL = Object.keys(acts) as ActName[];

export interface Report {
  readonly seconds: number;
  readonly orders: number;
  readonly submits: number;
  readonly commits: number;
  readonly restarts: number;
  /** Responses that the check looked for in the trail of writes, and those without exactly one line. */
  readonly answers: number;
  readonly unaudited: readonly string[];
  readonly states: Readonly<Record<string, number>>;
  /** Seconds. */
  readonly took: Readonly<Partial<Record<ActName, number>>>;
  readonly violations: readonly (Violation & { readonly act: ActName })[];
}

/** One run. With a variant it ends at the first act that finds a violation. */
export async function runChaos(
  options: ChaosOptions,
  { variant, only = ALL }: { variant?: VariantName | undefined; only?: readonly ActName[] } = {},
): Promise<Report> {
  const started = performance.now();
  const { processes, seed } = options;
  const stage = await Stage.set({ processes, seed, variant });
  const violations: (Violation & { act: ActName })[] = [];
  const took: Partial<Record<ActName, number>> = {};
  let orders = 0;
  let submits = 0;
  let states: Readonly<Record<string, number>> = {};
  try {
    for (const act of only) {
      const began = performance.now();
      const acted = await acts[act](stage, options);
      took[act] = (performance.now() - began) / 1_000;
      orders += acted.orders;
      submits += acted.submits;
      if (act === 'crowd') states = acted.states ?? {};
      violations.push(...acted.violations.map((violation) => ({ ...violation, act })));
      if (variant && violations.length > 0) break;
    }
    const commits = (await stage.sandbox.commits()).length;
    const seconds = (performance.now() - started) / 1_000;
    const trail = await stage.trail();
    return {
      seconds,
      orders,
      submits,
      commits,
      restarts: stage.restarts,
      ...trail,
      states,
      took,
      violations,
    };
  } finally {
    await stage.clear();
  }
}

/** Figures of a run, one a line. */
export function figuresOf(report: Report): string {
  const count = (fault: Violation['fault']) => report.violations.filter((one) => one.fault === fault).length;
  const rows: [string, string | number][] = [
    ['orders', report.orders],
    ['requests', report.submits],
    ['kill -9 and restart', report.restarts],
    ['carried out by the platform', report.commits],
    [
      'states',
      Object.entries(report.states)
        .map(([state, number]) => `${state} ${number}`)
        .join(', '),
    ],
    ['carried out twice', count('duplicate')],
    ['false answers', count('false answer')],
    ['unfindable', count('unfindable')],
    ['in a wrong state', count('wrong state')],
    ['lost with their callers', count('lost with its caller')],
    ['not once in the trail of writes', `${report.unaudited.length} of ${report.answers} answers`],
    [
      'seconds',
      `${report.seconds.toFixed(1)} (${Object.entries(report.took)
        .map(([act, seconds]) => `${act} ${seconds.toFixed(1)}`)
        .join(', ')})`,
    ],
  ];
  const some = report.violations
    .slice(0, 20)
    .map(({ act, fault, channelOrderId, what }) => `  ${act}: ${fault}: ${channelOrderId} ${what}`);
  return [...rows.map(([name, value]) => `${name.padEnd(30)} ${value}`), ...some].join('\n');
}
