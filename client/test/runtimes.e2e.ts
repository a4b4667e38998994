import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { build } from 'esbuild';
import { useVisits } from '../../test/support/browser.ts';
import { endings } from '../../test/support/endings.ts';
import { freePort } from '../../test/support/redis.ts';
import { useStack } from '../../test/support/stack.ts';
import type { Place } from './support/first-calls.ts';
import { OLDEST_NODE } from './support/oldest-node.ts';
import { ScriptedGateway } from './support/scripted-gateway.ts';

/** The built client (`npm run build:client`) in all that its README names, in front of the shipped gateway. */

const { gateway } = useStack();
const { atEnd } = endings();
const run = promisify(execFile);

/** Both packages find the program of this machine in another package, which has no install script. */
function programOf(packageName: string, path: string): string {
  const from = createRequire(resolve('client/package.json'));
  return join(from.resolve(`${packageName}/package.json`), '..', path);
}
const { arch } = process;
const BUN = programOf(`@oven/bun-linux-${arch === 'arm64' ? 'aarch64' : arch}`, 'bin/bun');
const DENO = programOf(`@deno/linux-${arch}-glibc`, 'deno');

const IMPORTS = `
  import * as client from ${JSON.stringify(pathToFileURL(resolve('client/dist/licensing.js')))};
  import { unanswered, firstCalls } from ${JSON.stringify(pathToFileURL(resolve('client/test/support/first-calls.ts')))};`;

let folder: string;
let main: string;
/** The same for Node 20, which reads no TypeScript; it requires the client. */
let older: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'runtimes-'));
  main = join(folder, 'main.ts');
  writeFileSync(
    main,
    `${IMPORTS}
     async function use() {
       const { PLACE, NOWHERE, CUTS } = process.env;
       const made = await firstCalls(client, JSON.parse(PLACE));
       const [nowhere, cut] = await Promise.all([NOWHERE, CUTS].map((url) => unanswered(client, url)));
       console.log(JSON.stringify({ ...made, nowhere, cut }));
     }
     void use();`,
  );
  older = join(folder, 'older.cjs');
  const text = readFileSync(main, 'utf8').replaceAll('file://', '').replace('dist/', 'dist/cjs/');
  await build({
    stdin: { contents: text, loader: 'ts', resolveDir: folder },
    outfile: older,
    external: [resolve('client/dist/cjs/licensing.js')],
    ...{ bundle: true, format: 'cjs', platform: 'node' },
  });
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What the small program finds everywhere. */
const found = (number: string) => ({
  assetNums: expect.arrayContaining(['8000001003', '8000001004']),
  unchanged: 304,
  problem: [404, 'not_processed'],
  state: 'succeeded',
  event: `license-order.succeeded crm/${number}`,
});
const placeOf = (number: string): Place => ({ baseUrl: gateway.url, apiKey: gateway.key, number });

describe('the client reads, places an order, follows events and knows what was not sent', () => {
  it.each([
    ['Node', process.execPath, () => ['--no-warnings', main]],
    ['Node 20', OLDEST_NODE, () => [older]],
    ['Bun', BUN, () => [main]],
    [
      'Deno',
      DENO,
      () => ['run', '--no-config', '--allow-net=127.0.0.1', '--allow-env=PLACE,NOWHERE,CUTS', main],
    ],
  ])('in %s', async (name, program, options) => {
    const number = `runs-in-${name.replace(' ', '-')}`;
    const cutting = await ScriptedGateway.start();
    atEnd(() => cutting.close());
    const env = {
      PLACE: JSON.stringify(placeOf(number)),
      NOWHERE: `http://127.0.0.1:${await freePort()}`,
      CUTS: cutting.url,
      // Where they keep what they make of sources.
      ...{ HOME: folder, DENO_DIR: join(folder, 'deno'), NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' },
    };
    const { stdout, stderr } = await run(program, options(), { env, cwd: folder });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual({ ...found(number), nowhere: { sent: false }, cut: { sent: true } });
    expect(cutting.requests).toHaveLength(1);
  });
});

describe('in a browser the same works', () => {
  const visit = useVisits();
  let script: string;
  beforeAll(async () => {
    const { outputFiles } = await build({
      stdin: {
        contents: `${IMPORTS.replaceAll('file://', '')}
          Object.assign(globalThis, {
            firstCalls: (place) => firstCalls(client, place),
            unanswered: (url) => unanswered(client, url),
          });`,
        resolveDir: resolve('.'),
      },
      ...{ bundle: true, minify: true, format: 'esm', platform: 'browser', write: false },
    });
    script = outputFiles[0]?.text ?? '';
  });

  it("from a page of the gateway's own origin", async () => {
    await visit.open('about:blank');
    await visit.context.route(`${gateway.url}/a-page`, (route) =>
      route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>A page</title>' }),
    );
    await visit.page.goto(`${gateway.url}/a-page`);
    await visit.page.addScriptTag({ type: 'module', content: script });
    const place = JSON.stringify(placeOf('runs-in-a-browser'));
    expect(await visit.page.evaluate(`firstCalls(${place})`)).toEqual(found('runs-in-a-browser'));
    // A page without the judge of failed requests. A browser does not say why there is no answer.
    const other = await visit.context.newPage();
    await other.goto(`${gateway.url}/a-page`);
    await other.addScriptTag({ type: 'module', content: script });
    const nowhere = `http://127.0.0.1:${await freePort()}`;
    expect(await other.evaluate(`unanswered('${nowhere}')`)).toEqual({ sent: true });
  });

  it('from no page of another origin: the gateway answers no preflight', async () => {
    const { headers } = await fetch(`${gateway.url}/v1/callers/me`, {
      method: 'OPTIONS',
      headers: { origin: 'https://elsewhere.example', 'access-control-request-method': 'GET' },
    });
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });
});
