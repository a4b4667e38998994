import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import axe from 'axe-core';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';

export const DESKTOP = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844 };
/** The small size of pages that nobody looks at: what is not seen needs no painting. */
const SMALL = { width: 1000, height: 500 };

/** A busy machine needs time to start a browser, and a page on it to show what its gateway does meanwhile. */
const PATIENCE_MS = 300_000;

/** Debian's Chromium without windows, which `npm test` installs. Playwright gives it an empty profile in a temporary folder. */
function startBrowser(): Promise<Browser> {
  return chromium.launch({
    timeout: PATIENCE_MS,
    executablePath: '/usr/bin/chromium-headless-shell',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--disable-extensions',
    ],
  });
}

/** What one visitor sees. */
export interface Visit {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Opens an address as a new visitor; the one before is gone. */
  open(url: string, options?: BrowserContextOptions): Promise<void>;
}

/**
 * A browser for all tests of a file, and a visit that lasts until the next one. A test must leave it without a failure of the page, a
 * violation of its policy, a warning in the browser's console and a failed request. `often`: the page waits a tenth of its pause of 2 s.
 */
export function useVisits({ often = false } = {}): Visit {
  let browser: Browser;
  let context: BrowserContext | undefined;
  let page: Page | undefined;
  let complaints: string[] = [];
  const judge = () => expect(complaints.splice(0)).toEqual([]);
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterEach(judge);
  afterAll(() => browser.close());
  return {
    get context() {
      return context as BrowserContext;
    },
    get page() {
      return page as Page;
    },
    open: async (url, options) => {
      await context?.close();
      judge();
      context = await browser.newContext({ viewport: SMALL, reducedMotion: 'reduce', ...options });
      context.setDefaultTimeout(PATIENCE_MS);
      if (often) await context.addInitScript(OFTEN);
      page = await context.newPage();
      complaints = complaintsOf(page);
      await page.goto(url);
    },
  };
}

const OFTEN = `const later = setTimeout; window.setTimeout = (act, ms) => later(act, ms === 2000 ? 200 : ms)`;

/** Grows while the page is used. */
function complaintsOf(page: Page): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    // Statuses are judged with the responses.
    const isStatus = message.text().startsWith('Failed to load resource: the server responded with a status');
    if (['error', 'warning'].includes(message.type()) && !isStatus) complaints.push(message.text());
  });
  page.on('response', (response) => {
    // What a page asks for by itself tests judge, who ask for refusals too.
    const isFile = response.request().resourceType() !== 'fetch';
    if (isFile && response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`);
  });
  page.on('requestfailed', (request) => {
    const { errorText = '' } = request.failure() ?? {};
    // A visitor who leaves a page ends its requests.
    if (errorText !== 'net::ERR_ABORTED') complaints.push(`${errorText} ${request.url()}`);
  });
  return complaints;
}

/** What axe finds on a page, or in one part of it: the rule, and where. */
export async function findings(page: Page, within: axe.ContextSpec = 'html'): Promise<string[]> {
  // Colours that are on their way have another contrast. Those of folded parts wait until they are seen.
  await page.evaluate(
    'Promise.allSettled(document.getAnimations().filter(({ effect }) => effect.target.checkVisibility()).map(({ finished }) => finished))',
  );
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe.source);
  const options = { resultTypes: ['violations'], preload: false };
  const results = (await page.evaluate(
    `axe.run(${JSON.stringify(within)}, ${JSON.stringify(options)})`,
  )) as axe.AxeResults;
  return results.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary}`),
  );
}
