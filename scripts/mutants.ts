/**
 * `npm run mutants -- [--each n] [--seed s] [--room name]` tells whether tests notice changes of the core. Each mutant is one small change
 * of a source: a negated condition, a bound moved by one, a statement left out, another constant. It is tried in a copy of the project:
 * first the unit tests of its room, and if they all pass the service suites that use the room most. It prints which test found each mutant,
 * and fails under {@link LINE}.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  globSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import ts from 'typescript';

/** The part of all mutants that tests have to find, in percent. */
const LINE = 85;

/** The rooms of the core, with the service suites that go through them. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  'order-ledger': [
    'test/e2e/orders',
    'test/e2e/idempotency',
    'test/faults/send-once',
    'test/e2e/order-ledger',
    'test/faults/orders',
  ],
  database: ['test/e2e/database', 'test/faults/database'],
  tasks: ['test/e2e/tasks'],
  tenancy: ['test/security/reach', 'test/security/tenancy', 'test/e2e/order-area', 'test/e2e/lookups'],
  upstream: ['test/e2e/upstream-failures', 'test/faults/upstream-content', 'test/e2e/member-lists'],
  token: ['test/faults/token-endpoint', 'test/e2e/sessions'],
  'read-cache': ['test/e2e/read-cache', 'test/e2e/pages'],
  webhooks: ['test/e2e/webhooks'],
};

const { values } = parseArgs({
  options: {
    each: { type: 'string', default: '14' },
    seed: { type: 'string', default: '1' },
    room: { type: 'string', multiple: true, default: Object.keys(ROOMS) },
  },
});

interface Mutant {
  readonly room: string;
  readonly path: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly place: string;
}

const OTHER_OPERATOR: Readonly<Partial<Record<ts.SyntaxKind, string>>> = {
  [ts.SyntaxKind.LessThanToken]: '<=',
  [ts.SyntaxKind.LessThanEqualsToken]: '<',
  [ts.SyntaxKind.GreaterThanToken]: '>=',
  [ts.SyntaxKind.GreaterThanEqualsToken]: '>',
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: '!==',
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: '===',
  [ts.SyntaxKind.AmpersandAmpersandToken]: '||',
  [ts.SyntaxKind.BarBarToken]: '&&',
};

/** Returns every mutant of one file. */
function mutantsOf(room: string, path: string): Mutant[] {
  const source = readFileSync(path, 'utf8');
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true);
  const found: Mutant[] = [];
  const add = (node: ts.Node, text: string) => {
    const start = node.getStart(file);
    const line = file.getLineAndCharacterOfPosition(start).line + 1;
    found.push({ room, path, start, end: node.getEnd(), text, place: `${path}:${line}` });
  };
  const visit = (node: ts.Node): void => {
    // The compiler checks types, so they have no mutants.
    if (ts.isTypeNode(node)) return;
    if (ts.isIfStatement(node) || ts.isConditionalExpression(node)) {
      const condition = ts.isIfStatement(node) ? node.expression : node.condition;
      add(condition, `!(${condition.getText(file)})`);
    }
    if (ts.isBinaryExpression(node)) {
      const other = OTHER_OPERATOR[node.operatorToken.kind];
      if (other !== undefined) add(node.operatorToken, other);
    }
    if (node.kind === ts.SyntaxKind.TrueKeyword) add(node, 'false');
    if (node.kind === ts.SyntaxKind.FalseKeyword) add(node, 'true');
    if (ts.isExpressionStatement(node) && !ts.isStringLiteral(node.expression)) add(node, ';');
    if (ts.isReturnStatement(node) && node.expression && ts.isBlock(node.parent))
      add(node, 'return undefined as never;');
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** Draws a sample. The same seed draws the same one. */
function sampleOf(all: readonly Mutant[], count: number, seed: number): Mutant[] {
  let state = seed;
  const next = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  return all
    .map((mutant) => ({ mutant, at: next() }))
    .sort((one, other) => one.at - other.at)
    .slice(0, count)
    .map(({ mutant }) => mutant);
}

/** The copy lies next to the packages, so that they are links and not copies. */
const copy = mkdtempSync('.mutants-');
const tracked = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).split('\n').filter(Boolean);
const packages = tracked
  .filter((path) => basename(path) === 'package.json')
  .map((path) => join(dirname(path), 'node_modules'))
  .filter((path) => existsSync(path));
execFileSync('cp', ['-a', '--parents', ...tracked, 'dist', copy]);
execFileSync('cp', ['-al', '--parents', ...packages, copy]);
process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));

/** Returns the first test that fails in the copy, or why the command ended. Undefined if none fails. */
function failureOf(program: string, ...args: readonly string[]): string | undefined {
  const printed = join(copy, 'printed');
  // The output goes to a file, because text that a process writes into a pipe just before its end may be lost.
  const into = openSync(printed, 'w');
  const stdio = ['ignore' as const, into, into];
  const { status, signal } = spawnSync(program, args, { cwd: copy, timeout: 600_000, stdio });
  closeSync(into);
  if (status === 0) return undefined;
  if (signal !== null) return 'a test that does not end';
  return /^\s*● (.*)$/m.exec(readFileSync(printed, 'utf8'))?.[1] ?? 'a suite that does not start';
}
const JEST = 'run -s jest -- --bail --silent --passWithNoTests --selectProjects'.split(' ');
const jest = (project: string, ...paths: readonly string[]) =>
  failureOf('npm', ...JEST, project, '--', ...paths);

const { config } = ts.readConfigFile('tsconfig.json', (path) => readFileSync(path, 'utf8')) as {
  config: { compilerOptions: object };
};
const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, '.');

/** Puts the source into the built gateway too. The other modules of `dist` are unchanged. */
function build(path: string, source: string): void {
  const compilerOptions = { ...options, module: ts.ModuleKind.ESNext, sourceMap: false };
  const { outputText } = ts.transpileModule(source, { fileName: path, compilerOptions });
  const built = path.replace('src/', 'dist/').replace(/\.ts$/, '.js');
  writeFileSync(join(copy, built), outputText);
  rmSync(join(copy, 'dist/bundle'), { recursive: true });
  const failure = failureOf(process.execPath, 'scripts/bundle.ts');
  if (failure !== undefined)
    throw new Error(`No bundle with the change of ${path}: ${readFileSync(join(copy, 'printed'), 'utf8')}`);
}

/** Returns the test that finds the mutant. Undefined if none does. */
function finderOf({ room, path, start, end, text }: Mutant): string | undefined {
  const source = readFileSync(path, 'utf8');
  const changed = source.slice(0, start) + text + source.slice(end);
  writeFileSync(join(copy, path), changed);
  let finder = jest('unit', `src/${room}/`);
  if (finder === undefined) {
    build(path, changed);
    finder = jest('service', ...(ROOMS[room] ?? []));
    build(path, source);
  }
  writeFileSync(join(copy, path), source);
  return finder;
}

const sample = values.room.flatMap((room) => {
  const files = globSync(`src/${room}/**/*.ts`).filter((path) => !/\.(spec|module)\.ts$/.test(path));
  return sampleOf(
    files.sort().flatMap((path) => mutantsOf(room, path)),
    Number(values.each),
    Number(values.seed),
  );
});
// A test that fails without a change finds nothing.
for (const { room, path } of new Map(sample.map((mutant) => [mutant.room, mutant])).values()) {
  const failure = finderOf({ room, path, start: 0, end: 0, text: '', place: path });
  if (failure !== undefined) throw new Error(`A test of ${room} fails without a change: ${failure}`);
}
const survivors: string[] = [];
for (const [index, mutant] of sample.entries()) {
  const { path, start, end, text, place } = mutant;
  const change = `${readFileSync(path, 'utf8').slice(start, end).replaceAll(/\s+/g, ' ').slice(0, 70)} → ${text.slice(0, 74)}`;
  const finder = finderOf(mutant);
  if (finder === undefined) survivors.push(`${place}  ${change}`);
  console.log(
    `${index + 1}/${sample.length}  ${place}  ${change}\n    ${finder === undefined ? 'SURVIVED' : `found by ${finder}`}`,
  );
}
const score = (100 * (sample.length - survivors.length)) / sample.length;
console.log(
  `\n${sample.length - survivors.length} of ${sample.length} mutants found: ${score.toFixed(1)} % (at least ${LINE} %)`,
);
if (survivors.length > 0) console.log(`Not found:\n  ${survivors.join('\n  ')}`);
process.exit(score < LINE ? 1 : 0);
