import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { DESKTOP, PHONE, findings, useVisits } from '../support/browser.ts';
import { newApiKey } from '../support/canary.ts';
import { until } from '../support/redis.ts';
import { useStack } from '../support/stack.ts';

/** The page of the estate in a browser, as the shipped gateway serves it. */

interface Summary {
  readonly enterprises: readonly object[];
  readonly endingByMonth: readonly object[];
  readonly byProduct: readonly object[];
}
const COMPANIES = { enterprises: 1, assets: 6, products: 2 };
const { gateway } = useStack({
  environment: { ESTATE_REFRESH: '6h' },
  callers: [
    { name: 'seller', scopes: ['estate:read'], enterprises: ['ent-0001'] },
    { name: 'everyone', scopes: ['estate:read'], enterprises: ['*'], channels: [] },
  ],
  sandbox: { companies: COMPANIES },
});
const visit = useVisits();
const key = () => gateway.keys['seller'] as string;
const everyone = () => gateway.keys['everyone'] as string;
const ROWS = COMPANIES.assets * COMPANIES.products;

const rows = (page: Page) => page.locator('#list tbody tr');
const isShown = (page: Page, text: string | RegExp) => page.locator('#count', { hasText: text }).waitFor();

/** Fills the open dialog. */
async function give(page: Page, credential: string): Promise<void> {
  await page.getByLabel('API key').fill(credential);
  await page.locator('#form').getByRole('button', { name: 'Authorize' }).click();
}

async function open(query = '', options = {}): Promise<Page> {
  await visit.open(`${gateway.url}/estate${query}`, options);
  const { page } = visit;
  await give(page, key());
  await page.locator('#list table').or(page.getByText('Nothing is like that')).waitFor();
  return page;
}

describe('the page of the estate', () => {
  beforeAll(async () => {
    await until('the company is read', async () => {
      const { body } = await gateway.get('/v1/estate/summary', { key: key() });
      return (body['enterprises'] as { state: string }[]).every(({ state }) => state === 'whole');
    });
  });

  it('shows everything by the next end, and a press on the picture filters the list and the address', async () => {
    const page = await open();
    await isShown(page, `${ROWS} rows`);
    const ends = await page.locator('#list tbody th').allInnerTexts();
    expect(ends).toEqual(ends.toSorted());
    const month = page.locator('.month:not([title*=": 0 "])').first();
    const label = await month.getAttribute('title');
    await month.press('Enter');
    const count = Number(/: (\d+) product/.exec(label ?? '')?.[1]);
    await isShown(page, new RegExp(`^${count} rows?$`));
    expect(new URL(page.url()).searchParams.get('endsBefore')).toMatch(/^\d{4}-\d\d-01$/);
    // What was pressed keeps the focus, so that the next key goes on from there.
    expect(await page.locator(':focus').getAttribute('title')).toBe(label);
    await page.goBack();
    await isShown(page, `${ROWS} rows`);
  });

  it('checks a key before it uses it, asks again for one that is dead, and shows nothing after a sign-out', async () => {
    await visit.open(`${gateway.url}/estate`);
    const { page } = visit;
    await give(page, newApiKey().key);
    await page.getByText('The gateway does not know this key: it is mistyped').waitFor();
    await give(page, key());
    await isShown(page, `${ROWS} rows`);
    await page.getByRole('button', { name: 'Authorized: seller' }).waitFor();
    await page.evaluate(`sessionStorage.setItem('licensing-gateway.credential', '${newApiKey().key}')`);
    await page.reload();
    await page.getByText('The kept credential does not work any more').waitFor();
    await give(page, key());
    await isShown(page, `${ROWS} rows`);
    await page.locator('#credential-notice').waitFor({ state: 'hidden' });
    await page.locator('#authorize').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.locator('#dialog').waitFor();
    expect([await rows(page).count(), await page.locator('#count').innerText()]).toEqual([0, '']);
    expect(await findings(page)).toEqual([]);
  });

  it.each([
    ['types another key', false],
    ['has given another key', true],
  ])('leaves a reader alone who %s when a refusal of the one before arrives', async (_, isGiven) => {
    const page = await open();
    await page.evaluate(`sessionStorage.setItem('licensing-gateway.credential', '${newApiKey().key}')`);
    const arrival = Promise.withResolvers<undefined>();
    const held: Promise<unknown>[] = [];
    await page.route('**/v1/estate**', async (route) => {
      if (route.request().headers()['x-api-key'] === key()) return route.continue();
      held.push(route.request().response());
      await arrival.promise;
      return route.continue();
    });
    await page.reload();
    await page.getByText('The kept credential does not work any more').waitFor();
    await page.locator('#authorize').click();
    if (isGiven) {
      await give(page, key());
      await isShown(page, `${ROWS} rows`);
    } else await page.getByLabel('API key').fill('lgk-half');
    arrival.resolve(undefined);
    await Promise.all(held);
    if (isGiven) {
      // The page has handled the refusals by the time when it shows what it asked for after them.
      await page.getByLabel('Type').fill('softkey');
      await page.getByRole('button', { name: 'Show', exact: true }).click();
      await page.locator('#found', { hasText: 'with these filters' }).waitFor();
      expect(await page.locator('#dialog').isVisible()).toBe(false);
    } else {
      await page.getByText('The gateway does not know this key.', { exact: true }).first().waitFor();
      expect(await page.getByLabel('API key').inputValue()).toBe('lgk-half');
    }
  });

  it('shows nothing of a key that is refused meanwhile, and says that nobody is authorized', async () => {
    const page = await open();
    await page.route('**/v1/**', (route) =>
      route.continue({ headers: { ...route.request().headers(), 'x-api-key': newApiKey().key } }),
    );
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.locator('#credential-notice', { hasText: 'does not work any more' }).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await page.locator('#authorize').innerText()).toBe('Authorize');
    const kept = ['#age', '#list', '#enterprises', '#products'].map((part) =>
      page.locator(part).evaluate((place) => place.childNodes.length),
    );
    expect(await Promise.all(kept)).toEqual([0, 0, 0, 0]);
  });

  it('leaves the keyboard at the list after a link in it, and typed text after a link on the page', async () => {
    const page = await open('?sort=-seenAt');
    await isShown(page, `${ROWS} rows`);
    // An order is no filter.
    expect(await page.locator('#found').isVisible()).toBe(false);
    await page.locator('#list td a').first().press('Enter');
    await page.waitForURL(/productUri=/);
    await page.locator('#count:focus').waitFor();
    await page.getByLabel('Find').fill('8700010002');
    await page.getByRole('link', { name: 'Skip to the list' }).press('Enter');
    await page.waitForURL(/#list$/);
    expect(await page.getByLabel('Find').inputValue()).toBe('8700010002');
  });

  it('takes the filters of a link, and finds a lock by its number', async () => {
    const page = await open('?unassigned=true&sort=productUri');
    await isShown(page, /^\d+ rows$/);
    expect(await page.getByRole('checkbox', { name: 'assigned to nobody' }).isChecked()).toBe(true);
    expect(new Set(await page.locator('#list tbody td:nth-child(7)').allInnerTexts())).toEqual(
      new Set(['–']),
    );
    await page.getByRole('button', { name: 'Clear' }).click();
    await isShown(page, `${ROWS} rows`);
    expect(await page.locator('#found').isVisible()).toBe(false);
    await page.getByLabel('Find').fill('8700010002');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await isShown(page, /^2 rows$/);
    expect(new URL(page.url()).search).toBe('?find=8700010002');
    expect(await rows(page).count()).toBe(2);
  });

  it('answers what ends next quarter and is assigned to nobody, by the keyboard and by a tick, and leads to the list', async () => {
    const page = await open();
    await isShown(page, `${ROWS} rows`);
    const [quarter, nobody] = ['Ends next quarter', 'Assigned to nobody'].map((name) =>
      page.getByRole('button', { name, exact: true }),
    );
    await quarter?.press('Enter');
    await page.waitForURL(/endsBefore=/);
    // Some quarters have no end.
    await page.locator('#found', { hasText: 'with these filters' }).waitFor();
    const all = await page.locator('#count').innerText();
    // The next key goes on from what was pressed.
    expect(await page.locator(':focus').innerText()).toBe('Ends next quarter');
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').innerText()).toBe('Assigned to nobody');
    await page.keyboard.press('Space');
    await page.waitForURL(/unassigned=true/);
    await page.locator('#found', { hasText: 'with these filters' }).click();
    expect(await page.locator(':focus').getAttribute('id')).toBe('count');
    await page.getByRole('checkbox', { name: 'assigned to nobody' }).uncheck();
    await isShown(page, all);
    expect(new URL(page.url()).searchParams.has('unassigned')).toBe(false);
    expect(await nobody?.getAttribute('aria-pressed')).toBe('false');
  });

  it('shows each filter and the order of a link in the form, and leaves a member for what nobody has', async () => {
    const page = await open('?sort=-seenAt&licenseType=softkey');
    await isShown(page, /^\d+ rows?$/);
    expect(await page.getByLabel('Type').inputValue()).toBe('softkey');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await isShown(page, /^\d+ rows?$/);
    expect(new URL(page.url()).searchParams.get('sort')).toBe('-seenAt');
    await page.getByRole('button', { name: 'Clear' }).click();
    await isShown(page, `${ROWS} rows`);
    const holders = page.locator('#list tbody td:nth-child(7)');
    const member = holders.locator('a').first();
    const name = await member.innerText();
    await member.click();
    await page.waitForURL(/memberGlobalId=/);
    expect(await page.getByLabel('Member').inputValue()).toBe(name);
    await page.getByRole('button', { name: 'Assigned to nobody', exact: true }).click();
    await until('nobody has them', async () => new Set(await holders.allInnerTexts()).has('–'));
    expect(new URL(page.url()).search).toBe('?unassigned=true');
    expect(await page.locator('#notice').isVisible()).toBe(false);
  });

  it('gives the list as CSV, and says what the gateway refuses', async () => {
    const page = await open('?productUri=draft.pro');
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).click();
    const csv = readFileSync(await (await download).path(), 'utf8');
    // Excel takes the file for UTF-8 only with this mark.
    expect(csv.slice(0, 19)).toBe('\ufeffenterpriseGlobalId');
    expect(csv.trim().split(/\r?\n/).length).toBe(1 + (await rows(page).count()));
    const notice = page.locator('#notice');
    await page.evaluate('window.kept = fetch; window.fetch = () => Promise.reject(new TypeError())');
    await page.getByRole('button', { name: 'CSV' }).click();
    await notice.waitFor();
    const broken = "new ReadableStream({ start: (body) => body.error(new TypeError('network error')) })";
    await page.evaluate(`window.fetch = async () => new Response(${broken})`);
    await page.getByRole('button', { name: 'CSV' }).click();
    await notice.filter({ hasText: 'The answer did not come whole. Try again in a moment.' }).waitFor();
    await page.evaluate('window.fetch = kept');
    await page.getByRole('button', { name: 'CSV' }).click();
    await notice.waitFor({ state: 'hidden' });
    await page.evaluate("window.fetch = async () => new Response('{')");
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await notice.filter({ hasText: 'The answer did not come whole. Try again in a moment.' }).waitFor();
    await page.evaluate('window.fetch = kept');
    await page.getByLabel('Ends from').fill('2027-02-01');
    await page.getByLabel('Ends before').fill('2027-01-01');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.locator('#notice', { hasText: 'endsBefore' }).waitFor();
    // The earlier rows belong to other filters.
    expect([await rows(page).count(), await page.locator('#count').innerText()]).toEqual([0, '']);
    expect(await page.locator('.month').count()).toBe(0);
  });

  it('counts ages and months with the clock of the gateway, and makes them older while it is open', async () => {
    await visit.open('about:blank');
    const { page } = visit;
    const YEAR_MS = 365 * 86_400_000;
    await page.clock.install({ time: Date.now() - YEAR_MS });
    await page.goto(`${gateway.url}/estate`);
    await give(page, key());
    await isShown(page, `${ROWS} rows`);
    const months = page.locator('.month span.quiet');
    expect(await months.first().innerText()).toBe(String(new Date().getUTCFullYear()));
    const age = page.locator('#age', { hasText: /^Every enterprise read \d+ (s|min) ago or later\.$/ });
    await age.waitFor();
    await page.clock.fastForward('06:00:00');
    await page.getByText('Every enterprise read 6 h ago or later.').waitFor();
    expect(await page.locator('.row time').innerText()).toBe('6 h ago');
    expect(await page.locator('#list tbody time').first().innerText()).toBe('6 h ago');
  });

  it('says that an enterprise of the filter was not read, and sends nobody to where it is not', async () => {
    await visit.open(`${gateway.url}/estate?enterpriseGlobalId=ent-habour`);
    await give(visit.page, everyone());
    const notice = visit.page.locator('#notice', { hasText: 'The gateway has not read ent-habour yet.' });
    await notice.waitFor();
    expect(await notice.innerText()).not.toContain('By enterprise');
  });

  it('says of no product that there is none where the platform tells only a part of it', async () => {
    await visit.open(`${gateway.url}/estate`);
    const { page } = visit;
    await page.route(/v1\/estate\?/, async (route) => {
      const response = await route.fetch();
      const list = (await response.json()) as { items: object[] };
      const none = { productId: null, productUri: null, productName: null };
      const parts = [
        { ...none, productId: 'p-1', productName: 'Draft' },
        { ...none, productId: 'p-2' },
        none,
      ];
      const items = parts.map((part, at) => ({ ...list.items[at], ...part }));
      await route.fulfill({ response, json: { ...list, items } });
    });
    await give(page, key());
    await isShown(page, `${ROWS} rows`);
    expect(await page.locator('#list tbody td:nth-child(2)').allInnerTexts()).toEqual([
      'Draft',
      'p-2',
      'none',
    ]);
  });

  it('shows the last page in the place of one beyond it', async () => {
    const page = await open('?page=99');
    await isShown(page, `${ROWS} rows`);
    await until('the rows are there', async () => (await rows(page).count()) === ROWS);
    expect(new URL(page.url()).search).toBe('?page=1');
  });

  it('keeps the time of a link where its day is not changed', async () => {
    const page = await open('?endsAfter=2026-12-05T12%3A00%3A00Z');
    expect(await page.getByLabel('Ends from').inputValue()).toBe('2026-12-05');
    await page.getByLabel('Type').fill('softkey');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.waitForURL(/licenseType=softkey/);
    expect(new URL(page.url()).searchParams.get('endsAfter')).toBe('2026-12-05T12:00:00Z');
    await page.getByLabel('Ends from').fill('2026-12-06');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.waitForURL(/endsAfter=2026-12-06(&|$)/);
  });

  it('says that the gateway does not answer, and keeps only the rows of the same filters', async () => {
    const page = await open('?licenseType=softkey');
    await isShown(page, /^\d+ rows?$/);
    const before = await rows(page).count();
    await page.evaluate("window.fetch = () => Promise.reject(new TypeError('Failed to fetch'))");
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByText('The gateway does not answer. Try again in a moment.').waitFor();
    expect(await rows(page).count()).toBe(before);
    await page.getByRole('button', { name: 'Clear' }).click();
    await until('the rows are gone', async () => (await rows(page).count()) === 0);
    expect(await page.locator('#notice').innerText()).toBe(
      'The gateway does not answer. Try again in a moment.',
    );
  });

  it.each([
    ['desktop', DESKTOP],
    ['phone', PHONE],
  ] as const)('says what the picture leaves out and why, and has what is chosen: %s', async (_, viewport) => {
    await visit.open(`${gateway.url}/estate`, { viewport });
    const { page } = visit;
    await page.route('**/v1/estate/summary', async (route) => {
      const response = await route.fetch();
      const summary = (await response.json()) as Summary;
      const further = (count: number, name: string) =>
        Array.from({ length: count }, (__, at) => `${name}-${at}`);
      const sums = { assets: 9_000, licences: 9_000, unassigned: 0, nextEndsAt: null };
      await route.fulfill({
        response,
        json: {
          ...summary,
          ...{ assets: 1, products: 1, unassigned: 1 },
          enterprises: [
            ...further(14, 'ent-away').map((enterpriseGlobalId) => ({
              ...{ enterpriseGlobalId, state: 'stale', reason: 'token: unavailable', seenAt: null },
            })),
            ...summary.enterprises,
          ],
          endingByMonth: [
            { month: '2020-01', products: 1, licences: 1 },
            ...summary.endingByMonth,
            { month: '2090-01', products: 3, licences: 4 },
          ],
          byProduct: [
            ...further(9, 'tool').map((productUri) => ({
              ...sums,
              productUri,
              productName: productUri.repeat(Number(productUri.slice(-1)) + 1),
            })),
            ...summary.byProduct,
          ],
        },
      });
    });
    await give(page, key());
    await page
      .getByText(/^Not in the picture: 3 products that end later, \d+ products? that ended before$/)
      .waitFor();
    await page.getByText(/^and \d+ further products: use the filter$/).waitFor();
    const facts = await page.locator('.facts-bar p').allInnerTexts();
    expect(facts.slice(1).map((fact) => fact.replaceAll(/\s+/g, ' '))).toEqual([
      ...['1 asset', '1 product on it', '1 asset assigned to nobody'],
    ]);
    const missing = page.locator('.row[data-key^="ent-away-"]:visible');
    expect(await missing.count()).toBe(12);
    await page.getByText('and 3 further enterprises: use the filter').click();
    expect(await missing.count()).toBe(14);
    await page.getByText('and 3 further enterprises: use the filter').click();
    // Products with the same licences have the same bars, and the most licences a whole one.
    const widthsOf = async (what: string) => {
      const boxes = (await page.locator(what).all()).map((each) => each.boundingBox());
      return (await Promise.all(boxes)).map((box) => Math.round(box?.width ?? 0));
    };
    const bars = await widthsOf('.row[data-key^="tool-"] .fill');
    const [row = 0] = await widthsOf('.row[data-key="tool-0"]');
    expect([bars.length, new Set(bars).size]).toEqual([8, 1]);
    expect(bars[0]).toBeGreaterThan(0.9 * row);
    expect(await page.getByText('token: unavailable').first().isVisible()).toBe(true);
    const own = page.getByRole('button', { name: /^ent-0001/ });
    expect(await own.count()).toBe(0);
    await page.getByRole('link', { name: 'ent-0001' }).first().click();
    await own.waitFor();
    expect(await own.getAttribute('aria-pressed')).toBe('true');
    await page.getByRole('combobox', { name: 'Product' }).fill('draft.pro');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.locator('.row[aria-pressed=true][data-key="draft.pro"]').waitFor();
    expect(await findings(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(viewport.width);
  });

  it.each([
    ['desktop, light', DESKTOP, 'light'],
    ['desktop, dark', DESKTOP, 'dark'],
    ['phone, light', PHONE, 'light'],
    ['phone, dark', PHONE, 'dark'],
  ] as const)('has nothing to find for axe, and fits: %s', async (_, viewport, colorScheme) => {
    const page = await open('', { viewport, colorScheme });
    expect(await findings(page)).toEqual([]);
    // The bars stand out in forced colours, too.
    await page.emulateMedia({ forcedColors: 'active' });
    const colours = ['.month .fill', '.month'].map((part) =>
      page.evaluate(`getComputedStyle(document.querySelector('${part}')).backgroundColor`),
    );
    expect(new Set(await Promise.all(colours)).size).toBe(2);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(viewport.width);
  });
});
