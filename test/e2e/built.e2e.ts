import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { isBuilt, markBuilt } from '../../scripts/built.ts';

const root = mkdtempSync(join(tmpdir(), 'built-'));
afterAll(() => rmSync(root, { recursive: true }));

it('G10 the demo builds again only where a source was changed, added or removed', () => {
  for (const folder of ['src/room', 'dist']) mkdirSync(join(root, folder), { recursive: true });
  const write = (path: string, text: string) => writeFileSync(join(root, path), text);
  write('src/main.ts', 'a');
  write('src/room/part.ts', 'b');
  write('tsconfig.json', '{}');
  expect(isBuilt(root)).toBe(false);
  markBuilt(root);
  expect(isBuilt(root)).toBe(true);
  const changes = [
    () => write('src/room/part.ts', 'c'),
    () => write('src/room/more.ts', ''),
    () => rmSync(join(root, 'src/main.ts')),
    () => write('tsconfig.json', '{ }'),
  ];
  for (const change of changes) {
    change();
    expect(isBuilt(root)).toBe(false);
    markBuilt(root);
    expect(isBuilt(root)).toBe(true);
  }
  // A build empties the folder, and so removes the mark.
  rmSync(join(root, 'dist'), { recursive: true });
  expect(isBuilt(root)).toBe(false);
});
