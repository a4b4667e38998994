import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import {
  API_PAGE,
  CONSOLE_PAGE,
  managementPaths,
  publicPaths,
  SWAGGER_UI,
} from '../../scripts/served-paths.ts';
import { newVisit, startBrowser } from '../support/browser.ts';
import { Fleet } from '../support/fleet.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** The pages of the bundle, which runs in a folder that has what the image has. */

const READ_AT_START = [
  ...readdirSync(API_PAGE).map((file) => `dist/bundle/api-page/${file}`),
  ...readdirSync(CONSOLE_PAGE).map((file) => `dist/bundle/console-page/${file}`),
  ...SWAGGER_UI.map((file) => `dist/bundle/node_modules/swagger-ui-dist/${file}`),
  'CHANGELOG.md',
];

let image: string;
let sandbox: TestSandbox;
let fleet: Fleet;
let gateway: GatewayProcess;
let browser: Browser;

const how = () => ({ folder: image });
const titleOf = (html: string) => /<title>(.*?)<\/title>/.exec(html)?.[1];

beforeAll(async () => {
  image = mkdtempSync(join(tmpdir(), 'pages-'));
  for (const path of ['package.json', 'CHANGELOG.md', 'dist/bundle'])
    cpSync(path, join(image, path), { recursive: true });
  [sandbox, browser] = await Promise.all([TestSandbox.start(), startBrowser()]);
  fleet = await Fleet.start(sandbox, 1, { how: how(), environment: { DOCS: 'on' } });
  gateway = fleet.gateways[0] as GatewayProcess;
});
afterAll(async () => {
  await fleet.stop();
  await browser.close();
  await sandbox.close();
  rmSync(image, { recursive: true });
});

describe('P20 the shipped bundle', () => {
  it.each([
    ...publicPaths.map((path) => ['url', path] as const),
    ...managementPaths.map((path) => ['managementUrl', path] as const),
  ])('answers on its %s %s, also to HEAD', async (listener, path) => {
    const response = await fetch(gateway[listener] + path);
    expect([response.status, (await response.text()).length > 0]).toEqual([200, true]);
    if (path !== '/metrics')
      expect((await fetch(gateway[listener] + path, { method: 'HEAD' })).status).toBe(200);
  });

  it('has a page of its own at /docs and at /console', async () => {
    for (const [url, source] of [
      [`${gateway.url}/docs`, API_PAGE],
      [`${gateway.managementUrl}/console`, CONSOLE_PAGE],
    ] as const)
      expect(titleOf(await (await fetch(url)).text())).toBe(
        titleOf(readFileSync(`${source}/index.html`, 'utf8')),
      );
  });

  it.each([
    ['url', '/docs', 'Licensing gateway'],
    ['managementUrl', '/console', 'Now'],
  ] as const)(
    'shows the page of its %s at %s in a browser, without a failure',
    async (listener, path, heading) => {
      const { context, page, complaints } = await newVisit(browser, {}, 'none');
      const failed: string[] = [];
      page.on('requestfailed', (request) => failed.push(request.url()));
      page.on(
        'response',
        (response) => response.ok() || failed.push(`${response.status()} ${response.url()}`),
      );
      await page.goto(gateway[listener] + path, { waitUntil: 'networkidle' });
      await page.getByRole('heading', { name: heading, level: 1 }).first().waitFor();
      expect([failed, complaints]).toEqual([[], []]);
      await context.close();
    },
  );

  it.each(READ_AT_START)('does not start without %s, and names it', async (file) => {
    renameSync(join(image, file), join(image, 'away'));
    try {
      const started = startGatewayProcess({ ...fleet.environment, DOCS: 'on' }, how()).then(
        async (running) => {
          await running.stop();
          return 'It started';
        },
      );
      await expect(started).rejects.toThrow(
        new RegExp(
          `^${join(image, file)} cannot be read \\(ENOENT\\): the installation is incomplete\n$`,
          'm',
        ),
      );
    } finally {
      renameSync(join(image, 'away'), join(image, file));
    }
  });
});
