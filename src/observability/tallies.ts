import { Counter, type Metric, type Registry } from 'prom-client';

/**
 * Counters and histograms for events of every request. prom-client builds, sorts and joins the label texts for each observation. These
 * classes only add to a number, and pass the result on when the metrics are read.
 */

interface Naming {
  readonly name: string;
  readonly help: string;
  readonly registry: Registry;
}

/** A counter with two labels, whose values come from small fixed sets. */
export class TallyCounter {
  readonly #counts = new Map<string, Map<string | number, number>>();

  constructor({ name, help, registry }: Naming, labels: readonly [string, string]) {
    const [outer, inner] = labels;
    const counts = this.#counts;
    const counter = new Counter({
      name,
      help,
      labelNames: labels,
      registers: [],
      collect() {
        for (const [one, others] of counts) {
          for (const [other, count] of others) this.inc({ [outer]: one, [inner]: other }, count);
          others.clear();
        }
      },
    });
    registry.registerMetric(counter);
  }

  count(one: string, other: string | number): void {
    let others = this.#counts.get(one);
    if (!others) this.#counts.set(one, (others = new Map<string | number, number>()));
    others.set(other, (others.get(other) ?? 0) + 1);
  }
}

/** A histogram with one label, whose values come from a small fixed set. */
export class TallyHistogram {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  readonly labelNames: readonly string[];
  /** The cells by label: the count of each bucket (the last is beyond all bounds), then the sum of the observations. */
  readonly #cells = new Map<string, Float64Array>();

  constructor(
    { name, help, registry }: Naming,
    private readonly label: string,
    private readonly bounds: readonly number[],
  ) {
    this.name = name;
    this.help = help;
    this.labelNames = [label];
    registry.registerMetric(this as unknown as Metric);
  }

  observe(label: string, value: number): void {
    const { bounds } = this;
    let cell = this.#cells.get(label);
    if (!cell) this.#cells.set(label, (cell = new Float64Array(bounds.length + 2)));
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++;
    cell[bucket] = (cell[bucket] as number) + 1;
    cell[bounds.length + 1] = (cell[bounds.length + 1] as number) + value;
  }

  /** Returns the form that prom-client's registry prints: each bucket includes the counts of the smaller ones. */
  get(): Promise<object> {
    const { name, help, type, aggregator } = this;
    const values = [...this.#cells].flatMap(([label, cell]) => this.#valuesOf({ [this.label]: label }, cell));
    return Promise.resolve({ name, help, type, aggregator, values });
  }

  reset(): void {
    this.#cells.clear();
  }

  #valuesOf(labels: Readonly<Record<string, string>>, cell: Float64Array): object[] {
    let count = 0;
    const buckets = [...this.bounds, '+Inf'].map((le, index) => {
      count += cell[index] as number;
      return { metricName: `${this.name}_bucket`, labels: { le, ...labels }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: cell.at(-1) },
      { metricName: `${this.name}_count`, labels, value: count },
    ];
  }
}
