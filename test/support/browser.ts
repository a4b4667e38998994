import axe from 'axe-core';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';

/** A busy machine needs time to start a browser, and the console for what it calls silent. */
const PATIENCE_MS = 90_000;

/** Debian's Chromium, which `npm test` installs. Playwright gives it an empty profile in a temporary folder. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    timeout: PATIENCE_MS,
    executablePath: '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** A new visitor's page. `complaints`: failures of the page, violations of its policy, and warnings in the browser's console. */
export interface Visit {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly complaints: readonly string[];
}

/** Opens a page for a new visitor. `expected`: how the statuses of responses begin that are no complaint. */
export async function newVisit(
  browser: Browser,
  options: BrowserContextOptions,
  expected: string,
): Promise<Visit> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    const isStatus = message
      .text()
      .startsWith(`Failed to load resource: the server responded with a status of ${expected}`);
    if (['error', 'warning'].includes(message.type()) && !isStatus) complaints.push(message.text());
  });
  return { context, page, complaints };
}

/** What axe finds on a page that is serious or critical: the rule, and where. */
export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const results = (await page.evaluate('axe.run()')) as axe.AxeResults;
  return results.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary}`),
    );
}
