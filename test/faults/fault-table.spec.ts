import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from '@jest/globals';
import { type CatalogueRow, rows as allRows } from './catalogue.ts';
import { faultTable, type TitledResult } from './fault-table.reporter.ts';

const rows: CatalogueRow[] = [
  { id: 'U1', fault: 'refused' },
  { id: 'U12', fault: 'cut' },
  { id: 'R7', fault: 'lost', notHere: 'no records yet' },
];
const result = (title: string, status = 'passed', ancestorTitles: string[] = []): TitledResult => ({
  ancestorTitles,
  title,
  status,
});

describe('the table', () => {
  it('counts tests by the ids at the start of titles, of their own or of a describe block', () => {
    const { text: table, gaps } = faultTable(
      [
        result('U1 a read'),
        result('U1: a write', 'failed'),
        result('a read', 'passed', ['wire', 'U12 cut']),
        result('U12 again, named twice', 'passed', ['U12 cut']),
        result('knows U12 and R7 only in passing'),
        result('U12x is no row'),
      ],
      rows,
    );
    expect(gaps).toEqual([]);
    expect(table).toMatch(/^ {2}U1 +FAILED +1\/2 {2}refused$/m);
    expect(table).toMatch(/^ {2}U12 +ok +2\/2 {2}cut$/m);
    expect(table).toMatch(/^ {2}R7 +lost: no records yet$/m);
  });

  it('reports rows without a test, tests without a row, and reasons that are no longer true', () => {
    const { text: table, gaps } = faultTable([result('U1 a'), result('C99 b'), result('R7 c')], rows);
    expect(gaps).toEqual([
      'U12 has neither a test nor a reason why not',
      'R7 is said not to be tested, but is',
      'C99 is no row of the catalogue',
    ]);
    expect(table).toMatch(/^ {2}U12 +MISSING +0\/0/m);
  });
});

describe('the catalogue', () => {
  it('is every line of the page that begins with an id, and numbers the rows of each letter from 1', () => {
    const page = readFileSync('docs/faults.md', 'utf8');
    const ids = allRows.map(({ id }) => id);
    expect(ids).toEqual([...page.matchAll(/^\| ([A-Z]\d+)\b/gm)].map(([, id]) => id));
    expect(allRows.filter(({ notHere }) => notHere)).toHaveLength(page.split('*Not tested here').length - 1);
    const letters = Map.groupBy(ids, ([letter]) => letter);
    expect([...letters.keys()].sort().join('')).toBe('CDEGJKOPRSTU');
    for (const [letter, own] of letters) expect(own).toEqual(own.map((_, index) => `${letter}${index + 1}`));
  });
});

describe('a run of Jest', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fault-table-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'package.json'), '{}');
  writeFileSync(join(folder, 'some.test.js'), "it('U1 of all rows only one', () => {});");

  /** Runs Jest in a folder of its own, with only this reporter. */
  async function run(...args: string[]): Promise<{ code: number; printed: string }> {
    const reporters = [fileURLToPath(new URL('fault-table.reporter.ts', import.meta.url))];
    const config = JSON.stringify({ rootDir: folder, transform: {}, reporters });
    const child = spawn(process.execPath, ['node_modules/jest/bin/jest.js', '--config', config, ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [printed, [code]] = await Promise.all([
      text(child.stderr),
      once(child, 'exit') as Promise<[number]>,
    ]);
    return { code, printed };
  }

  it('of all tests prints the table, and fails when rows have no test', async () => {
    const { code, printed } = await run();
    expect(printed).toMatch(/^ {2}U1 +ok +1\/1/m);
    expect(printed).toContain('U2 has neither a test nor a reason why not');
    expect(code).toBe(1);
  });

  it('of some tests prints nothing and does not fail', async () => {
    expect(await run('some')).toEqual({ code: 0, printed: '' });
    expect(await run('--testNamePattern=U1')).toEqual({ code: 0, printed: '' });
  });
});
