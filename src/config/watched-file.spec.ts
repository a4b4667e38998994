import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { RecordedLog } from '../../test/support/settings.ts';
import { SettingsFileError } from './settings-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'gateway-watched-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('A changed file is read until a read succeeds, and the log says once why the reads before it failed', async () => {
  const path = join(folder, 'callers.json');
  const recorded = new RecordedLog();
  let failures = 0;
  const read = () => {
    if (failures-- > 0) throw new SettingsFileError('the file cannot be read (EIO)');
    return readFileSync(path, 'utf8');
  };
  writeFileSync(path, 'first');
  const taken: string[] = [];
  const file = { name: 'callers', variable: 'CALLERS_FILE', path, read };
  recorded.files.settings(file, (content) => taken.push(content));
  failures = 2;
  const refused = recorded.next('callers-rejected');
  const reloaded = recorded.next('callers-reloaded');
  writeFileSync(path, 'second');
  expect(await refused).toMatchObject({ reason: expect.stringContaining('EIO') });
  expect(recorded.files.refusedNow).toHaveLength(1);
  await reloaded;
  recorded.files.onApplicationShutdown();
  expect(taken).toEqual(['first', 'second']);
  expect(recorded.lines.filter(({ event }) => event === 'callers-rejected')).toHaveLength(1);
  expect(recorded.files.refusedNow).toEqual([]);
});
