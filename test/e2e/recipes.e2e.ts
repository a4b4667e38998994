import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { prepareDemo } from '../../scripts/demo-state.ts';
import { scopes } from '../../src/request/scopes.ts';
import { newApiKey } from '../support/canary.ts';
import { TestGateway } from '../support/gateway.ts';
import { NODE_PATH } from '../support/gateway-process.ts';
import { freePort, until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';

/** Every block of docs/recipes.md, in the order of the page: requests in a shell, lines of the client as programs of their own. */

const run = promisify(execFile);

interface Block {
  readonly language: string;
  readonly text: string;
}
interface Section {
  readonly title: string;
  readonly text: string;
  readonly blocks: readonly Block[];
}

const [start = '', ...rest] = readFileSync('docs/recipes.md', 'utf8').split(/^## /m);
const blocksOf = (text: string): Block[] =>
  [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', block = '']) => ({
    language,
    text: block,
  }));
const sections: Section[] = rest.map((text) => ({
  title: text.split('\n', 1)[0] ?? '',
  text,
  blocks: blocksOf(text),
}));
/** What a reader types before the first recipe: of the shell, and of each program. */
const [shellStart = '', programStart = ''] = blocksOf(start).map(({ text }) => text);
/** The port of the receiver on the page. */
const RECEIVER_PORT = '8080';
/** The most lines of a recipe, without empty lines and the marks of blocks. */
const MAX_LINES = 36;
/** Behind the answer of each request. */
const MARK = '@@answered';

/** What is the same on the page and in an answer, where `…` stands for any text. */
function isLike(shown: string, given: string): boolean {
  const parts = shown.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.+')}$`, 's').test(given);
}

/** Where an answer has not what the page shows of it; empty where it has all. Items of a list come in the order of the page. */
function missing(shown: unknown, given: unknown, path = ''): string[] {
  if (Array.isArray(shown) && Array.isArray(given)) {
    if (shown.length === 0) return given.length === 0 ? [] : [`${path} is not empty`];
    let next = 0;
    return shown.flatMap((item, place) => {
      const found = given.findIndex((each, at) => at >= next && missing(item, each).length === 0);
      if (found >= 0) next = found + 1;
      return found >= 0 ? [] : [`${path}/${place} of ${JSON.stringify(given)}`];
    });
  }
  if (typeof shown === 'object' && shown !== null && typeof given === 'object' && given !== null)
    return Object.entries(shown).flatMap(([name, value]) =>
      missing(value, (given as Record<string, unknown>)[name], `${path}/${name}`),
    );
  const isSame =
    typeof shown === 'string' && typeof given === 'string' ? isLike(shown, given) : shown === given;
  return isSame ? [] : [`${path}: ${JSON.stringify(given)}`];
}

/** The first field of this name, however deep. */
function fieldOf(name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  if (name in value) return (value as Record<string, unknown>)[name];
  return Object.values(value)
    .map((each) => fieldOf(name, each))
    .find((found) => found !== undefined);
}

/** An answer as `curl -i` prints it, and as the page shows it. */
function partsOf(answer: string) {
  const [head = '', ...body] = answer.replaceAll('\r\n', '\n').split('\n\n');
  const [status = '', ...headers] = head.split('\n');
  return {
    status: status.trim(),
    headers: headers.map((line) => line.toLowerCase()),
    body: body.join('\n\n').trim(),
  };
}

/** Lines of `wanted` that do not come in `given` in this order. */
function linesMissing(wanted: readonly string[], given: readonly string[]): string[] {
  let next = 0;
  return wanted.filter((line) => {
    const found = given.findIndex((each, at) => at >= next && isLike(line, each));
    if (found >= 0) next = found + 1;
    return found < 0;
  });
}

/** What the page shows of an answer and is not in it. */
function differences(shown: string, given: string): string[] {
  const [wanted, got] = [partsOf(shown), partsOf(given)];
  if (wanted.status !== got.status) return [given];
  const headers = linesMissing(wanted.headers, got.headers);
  const isJson = got.headers.some((line) => /^content-type: application\/(problem\+)?json/.test(line));
  const body = isJson
    ? missing(JSON.parse(wanted.body), JSON.parse(got.body))
    : linesMissing(wanted.body.split('\n'), got.body.split('\n'));
  return [...headers, ...body];
}

/** What a program prints, by the comments of the page. */
function printedBy({ text }: Block): string[] {
  return [...text.matchAll(/console\.log\(.*\);? \/\/ (.*)$/gm)].map(([, printed = '']) => printed);
}

describe('the recipes', () => {
  const sandbox = useSandbox();
  const programs = sections.flatMap(({ blocks }) => blocks.filter(({ language }) => language === 'ts'));
  let gateway: TestGateway;
  let folder: string;
  let receiverPort: number;
  let lastAnswer = '';
  const running: { child: ChildProcess; program: Block; output: () => string }[] = [];
  const fileOf = (program: Block) => join(folder, `recipe-${programs.indexOf(program)}.ts`);

  beforeAll(async () => {
    // Under the repository, so that programs find the client's package.
    mkdirSync('dist', { recursive: true });
    folder = mkdtempSync(resolve('dist/recipes-'));
    receiverPort = await freePort();
    for (const program of programs)
      writeFileSync(
        fileOf(program),
        `${programStart}\n${program.text}`.replaceAll(RECEIVER_PORT, String(receiverPort)),
      );
    const all = { enterprises: ['*'], channels: ['*'], users: ['*'] };
    // The demo has the same settings.
    const environment = { CACHE_TTL_MS: '30000', WEBHOOK_HOSTS: '127.0.0.1,localhost', ESTATE_REFRESH: '6h' };
    gateway = await TestGateway.start(sandbox, environment, [{ name: 'demo', scopes: [...scopes], ...all }]);
    const key = gateway.keys['demo'] ?? '';
    await prepareDemo({ gatewayUrl: gateway.url, key, sandboxUrl: sandbox.url });
    writeFileSync(
      join(folder, 'start.sh'),
      shellStart
        .replace(/^KEY=….*$/m, `KEY=${key}`)
        .replace(/^GATEWAY=.*$/m, `GATEWAY=${gateway.url}`)
        .replace(/^SANDBOX=.*$/m, `SANDBOX=${sandbox.url}`),
    );
    // The variables of the blocks so far.
    writeFileSync(join(folder, 'variables.sh'), '');
  });
  afterAll(async () => {
    for (const { child } of running) child.kill();
    await gateway.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs a block of the shell, after all before it; the last request's answer is kept. */
  async function type(block: string): Promise<void> {
    const { body } = partsOf(lastAnswer);
    const newKey = block.includes('NEW_KEY=…') ? await addKey() : '';
    if (block.includes('"X-Api-Key: $KEY"')) await removeOldKey();
    const filled = block
      .replace(/^(\w+)=… +# (\w+) of the answer$/gm, (_, variable: string, name: string) => {
        const value = fieldOf(name, JSON.parse(body));
        if (typeof value !== 'string') throw new Error(`no ${name} in ${body}`);
        return `${variable}=${value}`;
      })
      .replace(/^NEW_KEY=….*$/m, `NEW_KEY=${newKey}`)
      .replaceAll(RECEIVER_PORT, String(receiverPort));
    const curl = `curl() { command curl -i "$@"; echo; echo ${MARK}; }`;
    const script = `${curl}\n. ./start.sh\n. ./variables.sh\n${filled}\nexport -p > variables.sh`;
    const { stdout } = await run('bash', ['-euc', script], { cwd: folder });
    const answers = stdout.split(`${MARK}\n`).slice(0, -1);
    lastAnswer = answers.at(-1) ?? lastAnswer;
    // What goes before the last request has to work.
    for (const answer of answers.slice(0, -1)) expect(partsOf(answer).status).toMatch(/ 20\d/);
  }

  /** Runs a program of the page; a receiver goes on. */
  async function play(program: Block): Promise<void> {
    const script = `. ./start.sh; . ./variables.sh; exec node --no-warnings ${fileOf(program)}`;
    const child = spawn('bash', ['-euc', script], { cwd: folder, env: { ...process.env, PATH: NODE_PATH } });
    let printed = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    const output = () => printed;
    if (program.text.includes('.listen(')) {
      running.push({ child, program, output });
      const address = `http://127.0.0.1:${receiverPort}/`;
      await until('the receiver listens', () => fetch(address).then(Boolean));
      return;
    }
    const [code] = (await once(child, 'close')) as [number | null];
    expect([code, linesMissing(printedBy(program), printed.split('\n')), printed]).toEqual([0, [], printed]);
  }

  const entry = () => {
    const found = gateway.callers.find(({ name }) => name === 'demo');
    if (!found) throw new Error('no entry');
    return found;
  };
  const statusWith = async (key: string) => (await gateway.get('/v1/callers/me', { key })).status;

  /** What the operator does in the callers file at first, and at last. */
  async function addKey(): Promise<string> {
    const { key, hash } = newApiKey();
    entry().keys.push(hash);
    gateway.writeCallers();
    await until('the new key is valid', async () => (await statusWith(key)) === 200);
    return key;
  }
  async function removeOldKey(): Promise<void> {
    entry().keys.shift();
    gateway.writeCallers();
    await until('the old key is refused', async () => (await statusWith(gateway.keys['demo'] ?? '')) === 401);
  }

  it('are fourteen, short ones: a request, its answer, lines of the client, and one or two traps', () => {
    expect(sections).toHaveLength(14);
    const isContent = (line: string) => line !== '' && !line.startsWith('```');
    const shapes = sections.map(({ title, text, blocks }) => ({
      title,
      has: [...new Set(blocks.map(({ language }) => language))].sort(),
      traps: text.split('\nNote:\n')[1]?.match(/^- /gm)?.length,
      isShort: text.split('\n').filter(isContent).length <= MAX_LINES,
    }));
    expect(shapes).toEqual(
      sections.map(({ title }) => ({ title, has: ['http', 'sh', 'ts'], traps: 2, isShort: true })),
    );
  });

  it('are programs that compile', async () => {
    const strict = { strict: true, noUncheckedIndexedAccess: true, skipLibCheck: true, noEmit: true };
    const compilerOptions = { ...strict, target: 'es2024', module: 'nodenext', types: ['node'] };
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: programs.map(fileOf) }),
    );
    const told = await run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', folder]).then(
      () => '',
      ({ stdout }: { stdout: string }) => stdout,
    );
    expect(told).toBe('');
  });

  it.each(sections)('$title', async ({ blocks }) => {
    const drifted: string[] = [];
    for (const { language, text } of blocks) {
      if (language === 'sh') await type(text);
      else if (language === 'http') drifted.push(...differences(text, lastAnswer));
      else await play(programs.find((each) => each.text === text) as Block);
    }
    for (const { child, program, output } of running.splice(0)) {
      const isPrinted = () => linesMissing(printedBy(program), output().split('\n')).length === 0;
      await until('the receiver has printed all', isPrinted);
      child.kill();
    }
    expect(drifted).toEqual([]);
  });
});
