import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promtool } from '../support/promtool.ts';

const RULES = resolve('deploy/prometheus/alerts.yml');
/** Prometheus' scrapes in production. The night is played faster: a scrape is made as soon as the one before it has been. */
const INTERVAL_S = 15;
const PAUSE_MS = 350;
const ABSENT = '_';

/** What Prometheus would have of one gateway: every sample that the alert rules need, scrape by scrape. */
export class Recorder {
  readonly #series = new Map<string, string[]>();
  readonly #used = new Set(readFileSync(RULES, 'utf8').match(/\bgateway_\w+/g));
  readonly #managementUrl: () => string;
  #scrapes = 0;

  constructor(managementUrl: () => string) {
    this.#managementUrl = managementUrl;
  }

  get scrapes(): number {
    return this.#scrapes;
  }

  /** Scrapes this number of times. The callers do what they do before each scrape. */
  async record(count: number, traffic: () => Promise<unknown>): Promise<void> {
    for (let index = 0; index < count; index++) {
      await Promise.all([traffic(), sleep(PAUSE_MS)]);
      await this.#scrape();
    }
  }

  async #scrape(): Promise<void> {
    const text = await fetch(`${this.#managementUrl()}/metrics`).then(
      (response) => response.text(),
      () => undefined,
    );
    const samples = new Map([['up{job="gateway",instance="gateway-1"}', text === undefined ? '0' : '1']]);
    for (const [, name = '', labels = '', value = ''] of (text ?? '').matchAll(
      /^(gateway_\w+)(?:\{(.*)\})? (\S+)$/gm,
    )) {
      const all = ['job="gateway"', 'instance="gateway-1"', ...(labels === '' ? [] : [labels])];
      if (this.#used.has(name)) samples.set(`${name}{${all.join(',')}}`, value);
    }
    for (const series of samples.keys())
      if (!this.#series.has(series))
        this.#series.set(
          series,
          Array.from({ length: this.#scrapes }, () => ABSENT),
        );
    for (const [series, values] of this.#series) values.push(samples.get(series) ?? ABSENT);
    this.#scrapes++;
  }

  /** The alerts that fire after so many scrapes, by Prometheus' own tool. */
  firingAfter(scrapes: number): string[] {
    const folder = mkdtempSync(join(tmpdir(), 'night-'));
    try {
      const file = join(folder, 'test.json');
      const test = {
        interval: `${INTERVAL_S}s`,
        input_series: [...this.#series].map(([series, values]) => ({ series, values: values.join(' ') })),
        promql_expr_test: [
          {
            expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
            eval_time: `${(scrapes - 1) * INTERVAL_S}s`,
            // What fires is told as a difference from this, which no alert is called.
            exp_samples: [{ labels: '{alertname="none"}', value: 1 }],
          },
        ],
      };
      writeFileSync(
        file,
        JSON.stringify({ rule_files: [RULES], evaluation_interval: `${INTERVAL_S}s`, tests: [test] }),
      );
      const { output } = promtool('test', 'rules', file);
      const told = /got:(.*)/.exec(output)?.[1];
      if (told === undefined) throw new Error(`promtool says: ${output}`);
      return [...told.matchAll(/alertname="(\w+)"/g)].map(([, name = '']) => name);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
}
