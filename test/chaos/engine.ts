/** The sizes of a run, all of them numbers, so that the command line can give each; the seed is among them. */
export interface Sizes {
  readonly seed: number;
}

/** Where a story is played, with all that it needs. */
interface Stage {
  /** The numbers that the report shows. */
  readonly figures: Readonly<Record<string, number>>;
  /** Returns what does not hold after all acts. */
  atLast(): Promise<readonly string[]>;
  clear(): Promise<void>;
}

export interface Variant {
  /** The act that finds it. */
  readonly act: string;
  /** Where one gateway is not enough to find it. */
  readonly processes?: number;
  /** Applied to a gateway before it starts. */
  readonly apply: () => Promise<void>;
}

/** Something happens while callers work. Returns what should not have come of it. */
export type Act<S, Z> = (stage: S, sizes: Z) => Promise<readonly string[]>;

export interface Story<S extends Stage, Z extends Sizes> {
  /** The command that plays it. */
  readonly command: string;
  /** The sizes of the long form. */
  readonly sizes: Omit<Z, 'seed'>;
  readonly set: (sizes: Z, setting: { readonly variant?: string | undefined; place: string }) => Promise<S>;
  /** Acts of different places do not share a stage. */
  readonly placeOf?: (act: string) => string;
  /** The acts are played in this order. */
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
  /** With a variant the run ends at the first finding. */
  readonly variant?: string | undefined;
  /** Acts with one of these in their names. */
  readonly only?: readonly string[] | undefined;
}

/** The same seed gives the same plan; its timing depends on the machine. */
export async function play<S extends Stage, Z extends Sizes>(
  story: Story<S, Z>,
  sizes: Z,
  { variant, only = variant === undefined ? undefined : [story.variants[variant]?.act ?? ''] }: Choice = {},
): Promise<Report> {
  const repeat = `to repeat: ${commandOf(story, sizes, { variant, only })}`;
  const began = performance.now();
  const took: string[] = [];
  const faults: string[] = [];
  const figures: Record<string, number> = {};
  const acts = Object.keys(story.acts).filter((name) => only?.some((part) => name.includes(part)) ?? true);
  if (acts.length === 0) faults.push(`there is no act ${only?.join()}`);
  const places = Map.groupBy(acts, (name) => story.placeOf?.(name) ?? '');
  for (const [place, names] of places) {
    const stage = await story.set(sizes, { variant, place });
    try {
      for (const name of names) {
        const from = performance.now();
        const found = await story.acts[name]?.(stage, sizes).catch((error: unknown) => {
          throw new Error(`${name}: ${String(error)}; ${repeat}`, { cause: error });
        });
        took.push(`${name} ${secondsSince(from)}`);
        faults.push(...(found ?? []).map((what) => `${name}: ${what}`));
      }
      if (variant === undefined || faults.length === 0) faults.push(...(await stage.atLast()));
    } finally {
      await stage.clear();
      for (const [name, value] of Object.entries(stage.figures)) figures[name] = (figures[name] ?? 0) + value;
    }
  }
  const some = faults.length > 0 ? [...faults.slice(0, 20), `${faults.length} in all; ${repeat}`] : [];
  const text = [
    `${story.command}, seed ${sizes.seed}${variant === undefined ? '' : `, ${variant}`}`,
    ...Object.entries(figures).map(([name, value]) => `  ${name.padEnd(34)} ${value}`),
    `  ${'seconds'.padEnd(34)} ${secondsSince(began)} (${took.join(', ')})`,
    ...(some.length > 0 ? some : ['no fault']).map((fault) => `  ${fault}`),
  ].join('\n');
  return { figures, faults: some, text };
}

/**
 * Plays each deliberate bug; several at once, since they mostly wait for leases and deadlines. Resolves to what found it. A bug that did not show
 * is played once more, because a busy machine may have left no time for it.
 */
export function playVariants<S extends Stage, Z extends Sizes>(
  story: Story<S, Z>,
  sizes: Z,
): ReadonlyMap<string, Promise<Report>> {
  const runs = new Map(Object.keys(story.variants).map((name) => [name, Promise.withResolvers<Report>()]));
  const left = runs.entries();
  const found = async (variant: string): Promise<Report> => {
    const played = () =>
      play(story, { ...sizes, processes: story.variants[variant]?.processes ?? 1 }, { variant });
    const first = await played();
    return first.faults.length > 0 ? first : played();
  };
  const lane = async () => {
    for (const [variant, { resolve, reject }] of left) await found(variant).then(resolve, reject);
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
  { command }: { readonly command: string },
  sizes: object,
  { variant, only }: Choice,
): string {
  const options = Object.entries(sizes).map(([name, value]) => `--${optionOf(name)} ${value}`);
  const named =
    variant === undefined ? (only ?? []).map((act) => `--act '${act}'`) : [`--variant ${variant}`];
  return [command, '--', ...options, ...named].join(' ');
}

function secondsSince(from: number): string {
  return ((performance.now() - from) / 1_000).toFixed(1);
}
