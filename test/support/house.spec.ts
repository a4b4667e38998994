import { existsSync, globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

describe('the map of the repository', () => {
  const rows = readFileSync('AGENTS.md', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| -'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

  it('names paths that exist', () => {
    const cells = rows.map(([, read = '']) => read);
    const paths = cells.flatMap((cell) => [
      ...[...cell.matchAll(/`([\w.-]*\/[^` ]*|[\w.-]+\.\w+)`/g)].map(([, path = '']) => path),
      ...[...cell.matchAll(/\]\(([^)]+)\)/g)].map(([, path = '']) => path),
    ]);
    expect(paths.length).toBeGreaterThan(50);
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
  });

  it('is short enough to be read: cells have 120 characters at most', () => {
    expect(rows.flat().filter((cell) => cell.length > 120)).toEqual([]);
  });
});

it('no name is exported by two files of src: one word means one thing', () => {
  const files = globSync('src/**/*.ts').filter((path) => !path.endsWith('.spec.ts'));
  const exported = files.flatMap((path) => {
    const declared = readFileSync(path, 'utf8').matchAll(
      /^export (?:abstract |async )?(?:class|function|const|interface|type|enum) (\w+)/gm,
    );
    return [...declared].map(([, name = '']) => ({ name, path }));
  });
  expect(exported.length).toBeGreaterThan(200);
  const twice = [...Map.groupBy(exported, ({ name }) => name)].filter(([, places]) => places.length > 1);
  expect(twice).toEqual([]);
});
