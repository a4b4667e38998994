import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { API_PAGE, CONSOLE_PAGE, managementPaths, publicPaths } from '../../scripts/served-paths.ts';
import { useVisits } from '../support/browser.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { useStack } from '../support/stack.ts';

/** The pages of the bundle, which runs in a folder that has what the image has. */

const image = mkdtempSync(join(tmpdir(), 'pages-'));
for (const path of ['package.json', 'CHANGELOG.md', 'dist/bundle'])
  cpSync(path, join(image, path), { recursive: true });
const start = (environment: Record<string, string>) =>
  startGatewayProcess({ ...environment, DOCS: 'on' }, { folder: image });

const { sandbox, gateway } = useStack({ start });
const visit = useVisits();
afterAll(() => rmSync(image, { recursive: true }));

const titleOf = (html: string) => /<title>(.*?)<\/title>/.exec(html)?.[1];

async function withoutFile(path: string, act: () => Promise<void>): Promise<void> {
  renameSync(join(image, path), `${image}-${basename(path)}`);
  try {
    await act();
  } finally {
    renameSync(`${image}-${basename(path)}`, join(image, path));
  }
}

describe('P20 the shipped bundle', () => {
  it('has read every file of its pages when it listens: it serves all of them after they are gone, also to HEAD', async () => {
    const urls = [
      ...publicPaths.map((path) => gateway.url + path),
      ...managementPaths.map((path) => gateway.managementUrl + path),
    ];
    await withoutFile('dist', () =>
      withoutFile('CHANGELOG.md', async () => {
        for (const url of urls) {
          const got = await fetch(url);
          expect([url, got.status, (await got.text()).length > 0]).toEqual([url, 200, true]);
          if (url.endsWith('/metrics')) continue;
          expect([url, (await fetch(url, { method: 'HEAD' })).status]).toEqual([url, 200]);
        }
      }),
    );
  });

  it.each([
    ['url', '/docs', 'Licensing gateway', API_PAGE],
    ['managementUrl', '/console', 'Now', CONSOLE_PAGE],
  ] as const)(
    'shows the page of its %s at %s in a browser, without a failure',
    async (listener, path, heading, source) => {
      await visit.open(gateway[listener] + path);
      await visit.page.waitForLoadState('networkidle');
      await visit.page.getByRole('heading', { name: heading, level: 1 }).first().waitFor();
      expect(titleOf(await (await fetch(gateway[listener] + path)).text())).toBe(
        titleOf(readFileSync(`${source}/index.html`, 'utf8')),
      );
    },
  );

  // One of each part that reads files at the start.
  it.each([
    'dist/bundle/api-page/page.js',
    'dist/bundle/console-page/now.js',
    'dist/bundle/node_modules/swagger-ui-dist/swagger-ui-bundle.js',
    'CHANGELOG.md',
  ])('does not start without %s, and names it', async (file) => {
    const told = `${join(image, file)} cannot be read (ENOENT): the installation is incomplete\n`;
    await withoutFile(file, async () => {
      const started = start({ ...gateway.environment(sandbox), LOG_LEVEL: 'error' }).then(async (running) => {
        await running.stop();
        return 'It started';
      });
      await expect(started).rejects.toEqual(new Error(told));
    });
  });
});
