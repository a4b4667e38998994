import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { promtool } from '../support/promtool.ts';

/** The Grafana dashboard. That its metrics exist is in test/deploy/metrics.e2e.ts. */

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[];
}

const { panels } = JSON.parse(readFileSync('deploy/grafana/gateway.json', 'utf8')) as { panels: Panel[] };
const folder = mkdtempSync(join(tmpdir(), 'dashboard-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('the dashboard', () => {
  it('shows requests, the platform, tokens, the cache, orders, imports and the process', () => {
    const rows = panels.filter(({ type }) => type === 'row').map(({ title }) => title);
    expect(rows).toEqual(
      expect.arrayContaining([
        'Requests',
        'Platform',
        'Tokens',
        'Read cache and Redis',
        'Orders',
        'Imports',
        'Process',
      ]),
    );
  });

  it('has panels that do not overlap, each with a query on the chosen data source', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)} ${y + Math.floor(index / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const { type, targets = [] } of panels) {
      expect(targets.length > 0).toBe(type !== 'row');
      for (const { datasource } of targets) expect(datasource.uid).toBe('${datasource}');
    }
  });

  it('has queries that Prometheus understands', () => {
    const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    const rules = queries.map((query, index) => ({
      record: `query:${index}`,
      expr: query.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*'),
    }));
    expect(rules.length).toBeGreaterThan(30);
    const file = join(folder, 'queries.json');
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
    expect(promtool('check', 'rules', file)).toMatchObject({ passed: true });
  });
});
