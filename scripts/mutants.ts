/**
 * `npm run mutants -- [--each n] [--seed s] [--room name]`: whether tests notice when the core changes. Each mutant is one small change of a
 * source: a condition the other way round, a bound by one, an `await` or a call that is left out, another constant. It is tried in a copy of
 * the project: first the unit tests of its room, and where they all pass the service suites that use the room most. Prints who found each
 * mutant, and fails under {@link LINE}.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
    'test/faults/order-store',
  ],
  tenancy: ['test/security/reach', 'test/security/tenancy', 'test/e2e/order-area', 'test/e2e/lookups'],
  upstream: ['test/e2e/upstream-failures', 'test/faults/upstream-content', 'test/e2e/member-lists'],
  token: ['test/faults/token-endpoint', 'test/e2e/sessions'],
  'read-cache': ['test/e2e/read-cache', 'test/e2e/pages'],
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

/** Every change that is made of one file. */
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
    // A type is checked by the compiler.
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

/** The same seed gives the same sample. */
function sampleOf(all: readonly Mutant[], count: number, seed: number): Mutant[] {
  let state = seed;
  const next = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  return all
    .map((mutant) => ({ mutant, at: next() }))
    .sort((one, other) => one.at - other.at)
    .slice(0, count)
    .map(({ mutant }) => mutant);
}

const copy = mkdtempSync(join(tmpdir(), 'mutants-'));
const tracked = spawnSync('git', ['ls-files'], { encoding: 'utf8', maxBuffer: 1e8 })
  .stdout.split('\n')
  .filter(Boolean);
for (const path of tracked) cpSync(path, join(copy, path));
for (const path of ['.', 'client', 'bench', 'examples/billing-service'].map((each) =>
  join(each, 'node_modules'),
))
  symlinkSync(join(process.cwd(), path), join(copy, path));
process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));

/** Whether the command succeeds in the copy, and what it printed. */
function run(...command: readonly string[]): { ok: boolean; printed: string } {
  const [program = '', ...args] = command;
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd: copy,
    encoding: 'utf8',
    timeout: 600_000,
    maxBuffer: 1e8,
  });
  return { ok: status === 0, printed: `${stdout}${stderr}` };
}
const jest = (...args: string[]) => run('npm', 'run', '-s', 'jest', '--', '--bail', '--silent', ...args);
const firstFailure = (printed: string) => /^\s*● (.*)$/m.exec(printed)?.[1] ?? 'a suite that does not start';

/** Who finds it; undefined: nobody. */
function finderOf({ room, path, start, end, text }: Mutant): string | undefined {
  const source = readFileSync(path, 'utf8');
  writeFileSync(join(copy, path), source.slice(0, start) + text + source.slice(end));
  try {
    const unit = jest('--selectProjects', 'unit', '--passWithNoTests', '--', `src/${room}/`);
    if (!unit.ok) return firstFailure(unit.printed);
    const build = run('npm', 'run', '-s', 'build');
    if (!build.ok) return 'the compiler';
    const service = jest('--selectProjects', 'service', '--', ...(ROOMS[room] ?? []));
    return service.ok ? undefined : firstFailure(service.printed);
  } finally {
    writeFileSync(join(copy, path), source);
  }
}

const sample = values.room.flatMap((room) => {
  const files = globSync(`src/${room}/**/*.ts`).filter((path) => !/\.(spec|module)\.ts$/.test(path));
  return sampleOf(
    files.sort().flatMap((path) => mutantsOf(room, path)),
    Number(values.each),
    Number(values.seed),
  );
});
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
