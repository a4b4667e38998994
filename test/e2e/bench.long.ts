import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { named } from '../../bench/scenarios.ts';

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

    const { scenarios, lines } = JSON.parse(readFileSync(json, 'utf8')) as Figures;
    const known = named('');
    const startRuns = ['bare Nest', 'gateway'];
    expect(scenarios.map(({ name, runs }) => [name, runs.map(({ label }) => label)])).toEqual(
      known.map(({ name, runs }) => [name, name === 'start' ? startRuns : runs.map(({ label }) => label)]),
    );
    for (const { name, runs } of scenarios)
      if (name !== 'start') for (const run of runs) expect(run.perSecond?.min).toBeGreaterThan(0);
    expect(lines.length).toBeGreaterThan(20);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
