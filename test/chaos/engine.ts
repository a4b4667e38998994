import type { ChaosStage } from './stage.ts';

/** The sizes of a run, all of them numbers, so that the command line can give each; the seed is among them. */
export interface Sizes {
  readonly seed: number;
  readonly processes: number;
}

export interface Variant {
  /** Acts that find it. */
  readonly acts: readonly string[];
  /** Where one gateway is not enough to find it. */
  readonly processes?: number;
  /** Applied to a gateway before it starts. */
  readonly apply: () => Promise<void>;
}

/** Something happens to gateways while their callers work. Returns what should not have come of it. */
export type Act<S, Z> = (stage: S, sizes: Z) => Promise<readonly string[]>;

export interface Story<S extends ChaosStage, Z extends Sizes> {
  /** The command that plays it. */
  readonly command: string;
  /** Of its long form. */
  readonly sizes: Omit<Z, 'seed'>;
  readonly set: (sizes: Z, variant?: string) => Promise<S>;
  /** They are played in this order. */
  readonly acts: Readonly<Record<string, Act<S, Z>>>;
  /** Deliberate bugs: a story that passes with one of them proves nothing. */
  readonly variants: Readonly<Record<string, Variant>>;
}

export interface Report {
  readonly figures: Readonly<Record<string, number>>;
  /** Empty, or followed by the command that repeats the run. */
  readonly faults: readonly string[];
  /** A line each. */
  readonly text: string;
}

export interface Choice {
  /** Then the run ends at the first finding. */
  readonly variant?: string | undefined;
  readonly only?: readonly string[] | undefined;
}

/** The same seed gives the same plan; its timing depends on the machine. */
export async function play<S extends ChaosStage, Z extends Sizes>(
  story: Story<S, Z>,
  sizes: Z,
  { variant, only }: Choice = {},
): Promise<Report> {
  const chosen = only ?? (variant === undefined ? undefined : story.variants[variant]?.acts);
  const repeat = `to repeat: ${commandOf(story, sizes, { variant, only: chosen })}`;
  const began = performance.now();
  const took: string[] = [];
  const faults: string[] = [];
  const stage = await story.set(sizes, variant);
  try {
    for (const name of chosen ?? Object.keys(story.acts)) {
      const from = performance.now();
      const found = await story.acts[name]?.(stage, sizes).catch((error: unknown) => {
        throw new Error(`${name}: ${String(error)}; ${repeat}`, { cause: error });
      });
      took.push(`${name} ${secondsSince(from)}`);
      faults.push(...(found ?? [`there is no act ${name}`]).map((what) => `${name}: ${what}`));
      if (variant !== undefined && faults.length > 0) break;
    }
    if (variant === undefined || faults.length === 0) faults.push(...(await stage.atLast()));
  } finally {
    await stage.clear();
  }
  const some = faults.length > 0 ? [...faults.slice(0, 20), `${faults.length} in all; ${repeat}`] : [];
  const { figures } = stage;
  const text = [
    `${story.command}, seed ${sizes.seed}${variant === undefined ? '' : `, ${variant}`}`,
    ...Object.entries(figures).map(([name, value]) => `  ${name.padEnd(34)} ${value}`),
    `  ${'seconds'.padEnd(34)} ${secondsSince(began)} (${took.join(', ')})`,
    ...(some.length > 0 ? some : ['no fault']).map((fault) => `  ${fault}`),
  ].join('\n');
  return { figures, faults: some, text };
}

/** Plays each deliberate bug; several at once, since they mostly wait for leases and deadlines. Resolves to what found it. */
export function playVariants<S extends ChaosStage, Z extends Sizes>(
  story: Story<S, Z>,
  sizes: Z,
  names: readonly string[] = Object.keys(story.variants),
): ReadonlyMap<string, Promise<Report>> {
  const runs = new Map(names.map((name) => [name, Promise.withResolvers<Report>()]));
  const left = runs.entries();
  const lane = async () => {
    for (const [variant, { resolve, reject }] of left)
      await play(story, { ...sizes, processes: story.variants[variant]?.processes ?? 1 }, { variant }).then(
        resolve,
        reject,
      );
  };
  for (const { promise } of runs.values()) promise.catch(() => undefined);
  for (let lanes = 0; lanes < 3; lanes++) void lane();
  return new Map([...runs].map(([name, { promise }]) => [name, promise]));
}

/** `ordersPerAct` is `--orders-per-act`. */
export function optionOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function commandOf(
  story: { readonly command: string },
  sizes: object,
  { variant, only = [] }: Choice,
): string {
  const options = Object.entries(sizes).map(([name, value]) => `--${optionOf(name)} ${value}`);
  const named = [
    ...only.map((act) => `--act ${act}`),
    ...(variant === undefined ? [] : [`--variant ${variant}`]),
  ];
  return [story.command, '--', ...options, ...named].join(' ');
}

function secondsSince(from: number): string {
  return ((performance.now() - from) / 1_000).toFixed(1);
}
