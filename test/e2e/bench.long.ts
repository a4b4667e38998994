import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { hasNginx } from '../../bench/nginx.ts';

interface Figures {
  readonly scenarios: { name: string; runs: { label: string; perSecond?: { min: number } }[] }[];
  readonly lines: { scenario: string; what: string; limit: string }[];
}

/** The bench checks every response by itself, and whether it came from the cache. This test judges no times. */
it('the short bench: the gateway and all of its peers respond correctly, and no figure is missing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-test-'));
  const json = join(folder, 'figures.json');
  try {
    const bench = spawn(process.execPath, ['--no-warnings', 'bench/main.ts', '--short', '--json', json], {
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    bench.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    bench.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const [code] = (await once(bench, 'close')) as [number];
    expect({ code, output: code === 0 ? '' : output }).toEqual({ code: 0, output: '' });

    const nginx = hasNginx ? ' | nginx + njs' : '';
    const { scenarios, lines } = JSON.parse(readFileSync(json, 'utf8')) as Figures;
    expect(
      scenarios.map(({ name, runs }) => `${name}: ${runs.map(({ label }) => label).join(' | ')}`),
    ).toEqual([
      `read 1 KB, past the cache: bare | gateway | naive Nest | naive Nest, all${nginx}`,
      `read 1 KB, past the cache, changing: bare | gateway${nginx}`,
      `read 20 KB, past the cache: bare | gateway | naive Nest | naive Nest, all${nginx}`,
      `read 20 KB, past the cache, changing: bare | gateway${nginx}`,
      'read 1 KB, not in the cache: bare | gateway',
      'cached read 1 KB: bare | gateway | naive Nest, all',
      'cached read 20 KB: bare | gateway | naive Nest, all',
      'items of an order: 10 | 100 | 1000',
      'batch order of 10: bare | gateway | gateway, embedded | naive Nest | naive Nest, all',
      'connections: 1 | 10 | 64 | 1000',
      'two processes, one Redis: gateway | two gateways',
      '500 requests/s: direct | gateway | bare | naive Nest, all',
      'memory: naive Nest, all | gateway',
      'start: bare Nest | gateway',
    ]);
    for (const { name, runs } of scenarios)
      if (name !== 'start') for (const run of runs) expect(run.perSecond?.min).toBeGreaterThan(0);
    expect(lines).toHaveLength(hasNginx ? 23 : 21);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
