import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { rows as faultRows } from '../faults/catalogue.ts';

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

  it('is short enough to read: cells have at most 120 characters', () => {
    expect(rows.flat().filter((cell) => cell.length > 120)).toEqual([]);
  });
});

describe('where the way of Nest is left', () => {
  const sources = globSync('src/**/*.ts').map((path) => ({ path, text: readFileSync(path, 'utf8') }));
  const named = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/\(decisions? (\d+)(?: and (\d+))?\)/g)].flatMap(([, ...numbers]) =>
      numbers.flatMap((number) => (number === undefined ? [] : [`${basename(path)} ${number}`])),
    ),
  );

  it.each([
    ['hooks before guards', ['request-hooks.ts 4', 'request-hooks.ts 14', 'caller.guard.ts 4']],
    ['a limit of our own', ['caller-limits.ts 14']],
    ['a guard in place of a pipe', ['validation.guard.ts 13']],
    ['a guard whose lookup the interceptor calls', ['tenancy.guard.ts 16']],
    ['an interceptor of promises', ['upstream-error.interceptor.ts 16']],
    ['a slim HttpService', ['upstream-pools.ts 5', 'upstream-pools.ts 16']],
    ['a cache of our own on the way of a read', ['redis-store.ts 8']],
    ['no Terminus, no nestjs-pino', ['health.controller.ts 3', 'log.ts 2']],
    ['no @nestjs/config, no @nestjs/bullmq', ['config.module.ts 6', 'task-worker.ts 21']],
  ])('the comment names the decision: %s', (_, places) => {
    expect(places.filter((place) => !named.includes(place))).toEqual([]);
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

it('a statement that puts rows of a list over others names their order: no two transactions wait for each other', () => {
  const unsorted = globSync('src/**/*.ts').flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/INSERT INTO (\w+)[^`]*\bSELECT\b[^`]*\bON CONFLICT\b/g)]
      .filter(([statement]) => !/\bORDER BY\b[^`]*\bON CONFLICT\b/.test(statement))
      .map(([, table]) => `${path}: ${table}`),
  );
  expect(unsorted).toEqual([]);
});

it('one file declares what the requests of Fastify have in addition: no import would show who uses another', () => {
  const declaring = globSync('{src,sandbox}/**/*.ts').filter((path) =>
    readFileSync(path, 'utf8').includes("declare module 'fastify'"),
  );
  expect(declaring).toEqual(['src/request/request-stages.ts']);
});

it('a bound is called MAX_ or MIN_', () => {
  const code = '{src,sandbox,sandbox-package/src,client/src,bench,scripts,test}/**/*.{ts,js}';
  const files = globSync(code, { exclude: ['**/node_modules/**', '**/dist/**'] });
  const others = files.flatMap((path) =>
    [
      ...readFileSync(path, 'utf8').matchAll(/\b(?:MOST|LEAST|LARGEST|SMALLEST|LONGEST|SHORTEST)_[A-Z]\w*/g),
    ].map(([name]) => `${path}: ${name}`),
  );
  expect(files.length).toBeGreaterThan(500);
  expect(others).toEqual([]);
});

describe('a document', () => {
  const pages = globSync('**/*.md', { exclude: ['**/node_modules/**', '**/dist/**'] }).map((page) => ({
    page,
    text: readFileSync(page, 'utf8'),
  }));
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const found = (pattern: RegExp) =>
    pages.flatMap(({ page, text }) =>
      [...text.matchAll(pattern)].map(([, first = '']) => ({ page, name: first })),
    );
  const files = new Set(
    globSync(['{src,test,sandbox,bench,scripts,config,deploy,docs}/**/*', '*', '.*.js'], {
      exclude: ['**/node_modules/**'],
    }).map((path) => basename(path)),
  );

  it('names files and folders that exist', () => {
    const paths = found(/`((?:src|test|sandbox|bench|scripts|config|deploy|docs|dist)\/[\w./-]*)`/g);
    expect(paths.length).toBeGreaterThan(60);
    const source = (path: string) => path.replace(/^dist\/(.*)\.js$/, 'src/$1.ts');
    expect(paths.filter(({ name }) => !existsSync(source(name)))).toEqual([]);
  });

  it('names files without a folder that exist', () => {
    const names = found(/`([\w.-]+\.(?:ts|js|json|yml|yaml))`/g);
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter(({ name }) => !files.has(name))).toEqual([]);
  });

  it('links to pages and sections that exist', () => {
    const anchors = (path: string) =>
      [...readFileSync(path, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
        heading
          .toLowerCase()
          .replace(/[^\w\s-]/g, '')
          .replaceAll(' ', '-'),
      );
    const links = found(/\]\(([^)\s]+)\)/g).filter(({ name }) => !name.startsWith('http'));
    expect(links.length).toBeGreaterThan(50);
    const broken = links.filter(({ page, name }) => {
      const [path = '', anchor] = name.split('#');
      const target = path === '' ? page : join(dirname(page), path);
      return !existsSync(target) || (anchor !== undefined && !anchors(target).includes(anchor));
    });
    expect(broken).toEqual([]);
  });

  it('names npm scripts that exist', () => {
    const commands = found(/\bnpm run (?:-s )?([\w:-]+)/g);
    expect(commands.length).toBeGreaterThan(20);
    expect(commands.filter(({ name }) => !(name in scripts))).toEqual([]);
  });

  it('of the architecture names classes that exist', () => {
    const [architecture] = pages.filter(({ page }) => page === 'docs/architecture.md');
    const names = [...(architecture?.text ?? '').matchAll(/\b(?:[A-Z][a-z]+){2,}\b/g)].map(([name]) => name);
    const declared = new Set(
      globSync('src/**/*.ts').flatMap((path) =>
        [...readFileSync(path, 'utf8').matchAll(/^export .*?(?:class|const|interface|type) (\w+)/gm)].map(
          ([, name]) => name,
        ),
      ),
    );
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !declared.has(name))).toEqual([]);
  });

  it('names members of classes that exist', () => {
    const sources = globSync('{src,sandbox,sandbox-package/src,client/src,scripts,bench,test}/**/*.ts').map(
      (path) => readFileSync(path, 'utf8'),
    );
    const named = found(/`([A-Z]\w+\.[a-z]\w+)[`(]/g).filter(
      ({ name }) => !/^(?:JSON|Date)\.|\.(?:md|cs|db)$/.test(name),
    );
    expect(named.length).toBeGreaterThan(8);
    const dead = named.filter(({ name }) => {
      const [owner = '', member = ''] = name.split('.');
      const declares = new RegExp(String.raw`(?:class|interface|const) ${owner}\b`);
      return !sources.some((text) => declares.test(text) && new RegExp(String.raw`\b${member}\b`).test(text));
    });
    expect(dead).toEqual([]);
  });

  it('has table cells of at most 150 characters, which a laptop shows', () => {
    const byHand = pages.filter(({ page }) => /^(?:README|SECURITY|CONTRIBUTING)\.md$|^docs\//.test(page));
    const tables = byHand.filter(({ page }) => page !== 'docs/metrics.md');
    const cells = tables.flatMap(({ page, text }) =>
      (text.match(/^\|.*$/gm) ?? [])
        .flatMap((line) => line.split(' | '))
        .map((cell) => ({ page, cell: cell.replaceAll(/^\| | +\|?$/g, '') })),
    );
    expect(cells.length).toBeGreaterThan(500);
    expect(cells.filter(({ cell }) => cell.length > 150 && !cell.startsWith('-'))).toEqual([]);
  });

  it('has sequence diagrams without a semicolon, which ends a statement of mermaid', () => {
    const diagrams = found(/```mermaid\n(sequenceDiagram[^`]*)```/g);
    expect(diagrams.length).toBeGreaterThan(2);
    expect(diagrams.filter(({ name }) => name.includes(';'))).toEqual([]);
  });

  it('of the architecture has every room, in the picture of the floors and in the table', () => {
    const text = readFileSync('docs/architecture.md', 'utf8');
    const [, picture = ''] = text.match(/```mermaid\nflowchart TB\n([^`]*)/) ?? [];
    const table = text.split('\n').filter((line) => line.startsWith('| `'));
    const rooms = globSync('src/*/').map((room) => basename(room));
    expect(rooms.length).toBeGreaterThan(15);
    expect(rooms.filter((room) => !new RegExp(String.raw`(?<![\w-])${room}(?![\w-])`).test(picture))).toEqual(
      [],
    );
    expect(rooms.filter((room) => !table.some((line) => line.includes(`\`${room}\``)))).toEqual([]);
  });
});

describe('what a comment cites', () => {
  const pages = globSync('**/*.md', { exclude: ['**/node_modules/**', '**/dist/**'] });
  const cited = globSync(
    '{src,test,sandbox,sandbox-package/src,bench,scripts,client/src,client/test,examples}/**/*.{ts,c}',
    { exclude: ['**/node_modules/**'] },
  ).flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/^[ \t]*(?:\/?\*|\/\/).*$/gm)].map(([line]) => ({ file, line })),
  );
  const headings = (page: string) =>
    new Set(
      [...readFileSync(page, 'utf8').matchAll(/^#+ (\d+(?:\.\d+)*)\.? /gm)].map(([, number = '']) => number),
    );
  const missing = (page: string, numbers: readonly string[]) => {
    const there = headings(page);
    return numbers.filter((number) => !there.has(number));
  };
  /** `section 2`, `sections 2.4, 2.5 and 2.12`. */
  const SECTIONS = String.raw`sections? ((?:\d+(?:\.\d+)*(?:, | and )?)+)`;
  const numbersIn = (text: string) => text.match(/\d+(?:\.\d+)*/g) ?? [];

  it('is a page of the repository, under its path', () => {
    const named = cited.flatMap(({ file, line }) =>
      [...line.matchAll(/[\w./-]+\.md\b/g)].map(([page]) => ({ file, page })),
    );
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter(({ page }) => !pages.includes(page))).toEqual([]);
  });

  it('is a section of that page, or of the interface, that exists', () => {
    const wrong = cited.flatMap(({ file, line }) => {
      const ofPages = [...line.matchAll(new RegExp(String.raw`([\w./-]+\.md), ${SECTIONS}`, 'g'))];
      const elsewhere = /RFC \d+|\.md, section/.test(line);
      const ofInterface = elsewhere ? [] : [...line.matchAll(new RegExp(SECTIONS, 'g'))];
      return [
        ...ofPages.flatMap(([, page = '', numbers = '']) => missing(page, numbersIn(numbers))),
        ...ofInterface.flatMap(([, numbers = '']) => missing('docs/platform.md', numbersIn(numbers))),
      ].map((section) => ({ file, line, section }));
    });
    expect(cited.filter(({ line }) => /section \d/.test(line)).length).toBeGreaterThan(40);
    expect(wrong).toEqual([]);
  });

  it('is a decision or a fault that exists', () => {
    const decisions = globSync('docs/decisions/*.md').map((page) => Number(/(\d{4})/.exec(page)?.[1]));
    const rows = new Set<string | undefined>(faultRows.map(({ id }) => id));
    const wrong = cited.filter(({ line }) => {
      const [, ...named] = /\bdecisions? (\d+)(?: and (\d+))?/.exec(line) ?? [];
      const row = /docs\/faults\.md,? (?:row )?([A-Z]\d+)/.exec(line)?.[1];
      return (
        named.some((number) => number !== undefined && !decisions.includes(Number(number))) ||
        (row !== undefined && !rows.has(row))
      );
    });
    expect(wrong).toEqual([]);
  });
});

it('the packages, what they need of each other, the lock file and the image have one version', () => {
  const read = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as Record<string, any>;
  const { version, workspaces } = read('package.json') as { version: string; workspaces: string[] };
  const locked = read('package-lock.json')['packages'] as Record<string, Record<string, any>>;
  const versions = ['', ...workspaces].flatMap((place) =>
    [read(join(place, 'package.json')), locked[place] ?? {}].flatMap((manifest) => [
      manifest['version'],
      ...['dependencies', 'devDependencies', 'peerDependencies']
        .flatMap((kind) => Object.entries(manifest[kind] ?? {}))
        .flatMap(([name, needed]) => (name.startsWith('@licensing-gateway/') ? [needed] : [])),
    ]),
  );
  expect(versions.length).toBeGreaterThan(10);
  const [, label] = /^ARG VERSION=(.*)$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
  expect([...new Set([...versions, label])]).toEqual([version]);
});
