import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { assertAlike } from '../../bench/alike.ts';
import { type ContenderName, contenders } from '../../bench/contenders.ts';
import { Platform } from '../../bench/fleet.ts';
import { WrongAnswer } from '../../bench/generator.ts';
import { next } from '../../bench/measure.ts';
import { compilePeers } from '../../bench/processes.ts';
import { named } from '../../bench/scenarios.ts';
import type { Task } from '../../bench/tasks.ts';
import { endings } from '../support/endings.ts';

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

const { atEnd } = endings();

it('the floor runs the scripts of the gateway', () => {
  const sources = globSync('src/**/*.ts').map((path) => readFileSync(path, 'utf8'));
  const scripts = readFileSync('bench/peers/floor/redis.ts', 'utf8').match(/^redis\.set_repl[^`]+/gm) ?? [];
  expect(scripts).toHaveLength(2);
  for (const script of scripts) expect(sources.filter((source) => source.includes(script))).toHaveLength(1);
});

it('the floor answers each of its tasks as the gateway does, and a peer that answers otherwise is found', async () => {
  await compilePeers();
  const platform = await Platform.start();
  atEnd(() => platform.running.stop());
  const start = async (name: ContenderName) => {
    const contender = await contenders[name](platform, {}, undefined);
    atEnd(() => contender.running.stop());
    return contender;
  };
  const [gateway, floor, naive] = [await start('gateway'), await start('floor'), await start('naive Nest')];
  const tasks = named('').flatMap(({ runs }) =>
    runs.flatMap(({ contender, task }) => (contender === 'floor' ? [task] : [])),
  );
  const kinds = (some: readonly Task[]) =>
    new Set(some.map((task) => (task.kind === 'read' ? task.how : 'order')));
  expect(kinds(tasks)).toEqual(new Set(['fresh', 'miss', 'cached', 'order']));
  for (const task of tasks) {
    await assertAlike(gateway, floor, task, next);
    await expect(assertAlike(gateway, naive, task, next)).rejects.toThrow(WrongAnswer);
  }
});
