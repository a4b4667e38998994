import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { afterAll, describe, expect, it } from '@jest/globals';
import { keptFolder, newEncryptionKey, newMark } from '../support/canary.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { startInProcess } from '../support/gateway-in-process.ts';
import { emptyDatabase } from '../support/database.ts';
import { askDatabase } from '../support/postgres.ts';
import { ask, startRedis } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';
import { scan } from './scan.ts';

/** The scan itself: it finds secrets, and searches everything that a run writes. */

const folder = mkdtempSync(join(tmpdir(), 'canary-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** This test needs the mark of another run, or the scan of this run would find it. */
const mark = newMark();
const secret = `${mark}u${newMark()}`;

function planted(content: string | Buffer, name = 'printed'): string {
  const own = mkdtempSync(join(folder, 'planted-'));
  writeFileSync(join(own, name), content);
  return own;
}

describe('the scan', () => {
  const key = Buffer.from(`${mark}e${newMark().repeat(4)}`, 'base64');
  it.each<[string, string | Buffer]>([
    ['as it is', `{"cause":"login of anna with ${secret} failed"}`],
    ['as inspected bytes', inspect(Buffer.from(`x${secret}`))],
    ['as JSON of bytes', JSON.stringify(Buffer.from(`x${secret}`))],
    ['in hex', Buffer.from(secret).toString('hex')],
    ['in HEX', Buffer.from(secret).toString('hex').toUpperCase()],
    ['in UTF-16', Buffer.from(secret, 'utf16le')],
    ['in base64', Buffer.from(secret).toString('base64')],
    ['in base64 after one byte', Buffer.from(`:${secret}`).toString('base64')],
    ['in base64 after two bytes', Buffer.from(`a:${secret}`).toString('base64url')],
    ['as the bytes of an encryption key', key],
  ])('finds a secret %s, and does not repeat it', (_, content) => {
    const { findings } = scan([planted(content)], mark);
    expect(findings.length).toBeGreaterThan(0);
    expect(inspect(findings, { depth: null })).not.toContain(mark);
  });

  it('names the kind of secret and its location', () => {
    const [finding] = scan([planted(`a ${secret} and the password=${secret}`)], mark).findings;
    expect(finding).toMatchObject({ kind: 'password of a user', form: 'as it is', before: 'a ' });
    expect(finding?.file).toMatch(/\/printed$/);
  });

  it('finds the id of a session everywhere except in the response that creates it', () => {
    const id = 'aB3-_6789012345678901x';
    const answers = planted(`HTTP/1.1 201 Created\r\n\r\n{"sessionId":"${id}","expiresAt":"x"}`, 'answers.1');
    expect(scan([answers], mark).findings).toEqual([]);
    const log = planted(`{"event":"x","session":"${id}"}`);
    expect(scan([answers, log], mark).findings).toMatchObject([{ kind: 'id of a session' }]);
  });
});

it('a made-up encryption key is one whose bytes are found too', () => {
  const [kid, encoded = ''] = newEncryptionKey('k2').split(':');
  const bytes = Buffer.from(encoded, 'base64');
  expect([kid, bytes.length, bytes.toString('base64')]).toEqual(['k2', 32, encoded]);
});

describe('the searched output', () => {
  const kept = keptFolder() as string;
  const isKept = (word: string, name: RegExp) =>
    readdirSync(kept, { recursive: true, withFileTypes: true }).some(
      (entry) =>
        entry.isFile() &&
        name.test(join(entry.parentPath, entry.name)) &&
        readFileSync(join(entry.parentPath, entry.name)).includes(word),
    );

  it('has the responses and log lines of a gateway in this process and in another', async () => {
    const sandbox = await TestSandbox.start();
    const gateway = await startInProcess(sandbox);
    const other = await startGatewayProcess(gateway.environment(sandbox));
    const [here, there] = [randomUUID(), randomUUID()];
    try {
      await gateway.get('/v1/nowhere', { headers: { 'x-request-id': here } });
      await fetch(`${other.url}/v1/nowhere`, { headers: { 'x-request-id': there } });
      await fetch(`${other.managementUrl}/metrics`);
    } finally {
      await Promise.all([gateway.stop(), other.stop()]);
      await sandbox.close();
    }
    for (const word of [here, there]) expect(isKept(`"requestId":"${word}"`, /\/answers\.\d/)).toBe(true);
    expect(isKept('# HELP gateway_', new RegExp(`/answers\\.${other.child.pid}\\.`))).toBe(true);
    expect(isKept(here, /\/log\.\d/)).toBe(true);
    expect(isKept(there, /\/stdout-of-sh-/)).toBe(true);
  });

  it('has the output of every process', async () => {
    const word = randomUUID();
    const child = spawn(process.execPath, ['-p', `console.error('${word}-2'); '${word}-1'`]);
    await Promise.all([text(child.stdout), text(child.stderr)]);
    expect(isKept(`${word}-1`, /\/stdout-of-node-/)).toBe(true);
    expect(isKept(`${word}-2`, /\/stderr-of-node-/)).toBe(true);
  });

  it('has the whole content of a Redis at its end, also of a frozen one', async () => {
    const word = randomUUID();
    const redis = await startRedis();
    await ask(redis, (client) => client.hset('some', word.slice(1), word.repeat(20)));
    redis.freeze();
    await redis.stop();
    expect(isKept(word.repeat(20), new RegExp(`/redis-${redis.process.pid}/`))).toBe(true);
  });

  it('has the whole content of a PostgreSQL, and the file of SQLite', async () => {
    const word = randomUUID();
    const { url, remove } = await emptyDatabase('postgres');
    await askDatabase(url, `CREATE TABLE words AS SELECT '${word}' AS word`);
    await remove();
    expect(isKept(word, /\/database\.\d/)).toBe(true);

    const file = await emptyDatabase('file');
    writeFileSync(file.url.slice('sqlite:'.length), word);
    await file.remove();
    expect(isKept(word, /\/sqlite-test-\w+\/gateway\.db$/)).toBe(true);
  });
});

describe('a run of Jest', () => {
  /** Runs Jest in a folder of its own, with only this reporter. */
  async function run(test: string) {
    const rootDir = mkdtempSync(join(folder, 'run-'));
    const kept = mkdtempSync(join(folder, 'kept-'));
    writeFileSync(join(rootDir, 'package.json'), '{}');
    writeFileSync(join(rootDir, 'some.test.js'), `it('runs', () => { ${test} });`);
    const reporters = [fileURLToPath(new URL('canary.reporter.ts', import.meta.url))];
    const config = JSON.stringify({ rootDir, transform: {}, reporters });
    const child = spawn(process.execPath, ['node_modules/jest/bin/jest.js', '--config', config], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, TMPDIR: kept },
    });
    const [printed, [code]] = await Promise.all([
      text(child.stderr),
      once(child, 'exit') as Promise<[number]>,
    ]);
    return { code, printed, kept };
  }
  const password = "process.env.CANARY_MARK + 'u' + 'rest-of-it'";

  it('that prints a secret and leaves it in files fails, and names its kind', async () => {
    const { code, printed, kept } = await run(
      `const { writeFileSync } = require('node:fs'); process.stdout.write(${password});
       writeFileSync(__dirname + '/report.json', ${password});
       writeFileSync(process.env.CANARY_FOLDER + '/answers.1', ${password})`,
    );
    expect(code).toBe(1);
    expect(printed).toMatch(/Canaries: .* 3 found\n {2}password of a user, as it is, in \S+ after:/);
    for (const place of ['printed-by-jest', 'report.json', 'answers.1']) expect(printed).toContain(place);
    expect(printed).not.toContain('rest-of-it');
    expect(printed).toContain(`What was kept is in ${kept}/canaries-`);
  });
});
