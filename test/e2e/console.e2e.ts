import { once } from 'node:events';
import { type IncomingMessage, request as httpRequest } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { newVisit, seriousFindings, startBrowser } from '../support/browser.ts';
import { newApiKey, newSecret } from '../support/canary.ts';
import { Fleet } from '../support/fleet.ts';
import { orderOf } from '../support/order-body.ts';
import { until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** The operator's console in a browser, on the management listener of one of two replicas of the built gateway. */

const DESKTOP = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
const SECTIONS = ['now', 'orders', 'gaps', 'jobs', 'callers'] as const;
const ASSETS = '/v1/enterprises/ent-harbour/assets';

let sandbox: TestSandbox;
let fleet: Fleet;
let browser: Browser;
let consoleUrl: string;

beforeAll(async () => {
  sandbox = await TestSandbox.start();
  [fleet, browser] = await Promise.all([
    Fleet.start(sandbox, 2, {
      environment: { ACCEPTED_ALERT_AFTER_MS: '1' },
      redis: ['--appendonly', 'yes', '--appendfsync', 'always'],
      callers: [
        { name: 'portal', scopes: ['orders:read'], rateLimit: { requests: 3, perSeconds: 3_600 } },
        { name: 'reader', scopes: ['orders:read'] },
        { name: 'silent' },
      ],
    }),
    startBrowser(),
  ]);
  consoleUrl = `${fleet.gateways[0]?.managementUrl}/console`;
});
afterAll(async () => {
  await browser.close();
  await fleet.stop();
  await sandbox.close();
});

let context: BrowserContext;
let page: Page;
let complaints: readonly string[];

beforeEach(() => open({}));
afterEach(async () => {
  await context.close();
  expect(complaints).toEqual([]);
});

async function open(options: Parameters<Browser['newContext']>[0]): Promise<void> {
  const seen = {
    viewport: DESKTOP,
    permissions: ['clipboard-read', 'clipboard-write'],
    ...options,
  };
  ({ context, page, complaints } = await newVisit(browser, seen, ''));
  await page.goto(consoleUrl);
  await page.getByRole('heading', { name: 'Now' }).waitFor();
}

async function section(name: (typeof SECTIONS)[number], heading: string): Promise<void> {
  await page.locator(`nav a[href="#${name}"]`).click();
  await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
}

const attention = (title: string | RegExp): Locator =>
  page.locator('.attention strong').filter({ hasText: title });

const isFocused = async (control: Locator): Promise<boolean> =>
  (await control.and(page.locator(':focus')).count()) === 1;

/** The row of a table by the text of its first cell. */
const row = (name: string): Locator =>
  page.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) });

/** Places an order whose response is lost before the platform has carried it out. */
async function orderInDoubt(number: string): Promise<void> {
  await sandbox.fault({ operation: 'batchOrder', times: 1, action: { reset: 'before-headers' } });
  const order = orderOf(number, {});
  Object.assign((order.items[0] as { customer: object }).customer, { enterpriseGlobalId: 'ent-harbour' });
  expect((await fleet.post(1, '/v1/license-orders', order)).status).toBe(502);
}

describe('G12 now', () => {
  it('says that all is well, and shows what both replicas do', async () => {
    await page.getByRole('heading', { name: 'All is well' }).waitFor();
    for (let count = 0; count < 4; count++)
      for (const index of [0, 1]) expect((await fleet.get(index, ASSETS)).status).toBe(200);
    await row('listAssets').filter({ hasText: '8' }).first().waitFor();
    await page.getByRole('row', { name: /Token app:auth_order valid/ }).waitFor();
    expect(await row('Order store').innerText()).toContain('up');
    expect(await row('All circuits').innerText()).toContain('closed');
    const replicas = page.locator('#replica option');
    await replicas.nth(2).waitFor({ state: 'attached' });
    expect(await replicas.allInnerTexts()).toEqual([
      'All 2',
      expect.stringContaining('(this one)'),
      expect.any(String),
    ]);
    const [, own = '', other = ''] = await Promise.all(
      (await replicas.all()).map(async (option) => (await option.getAttribute('value')) ?? ''),
    );
    for (const replica of [own, other]) {
      await page.locator('#replica').selectOption(replica);
      await row('listAssets').filter({ hasText: '4' }).first().waitFor();
    }
  });

  it('says which store is away and what that means, keeps the page where it was, and says when it is back', async () => {
    const pause = page.getByRole('button', { name: 'Pause' });
    await pause.focus();
    fleet.redis.freeze();
    try {
      await attention('Orders are refused').waitFor();
      await attention('The shared Redis cannot be used').waitFor();
      expect(await page.locator('.attention').innerText()).toContain('OrderStoreAway');
      expect(await page.title()).toMatch(/^\(\d\) Now: console$/);
      expect(await isFocused(pause)).toBe(true);
    } finally {
      fleet.redis.thaw();
    }
    await page.getByRole('heading', { name: 'All is well' }).waitFor();
    await page.getByText('Redis is away: no command is sent').first().waitFor();
  });
});

describe('G12 orders in doubt', () => {
  beforeAll(() => orderInDoubt('SO-4001'));

  it('shows whose, since when, what each look found, when the next is due, and what to check', async () => {
    await attention('1 order in doubt').waitFor();
    await page.getByRole('link', { name: 'Show' }).first().click();
    const order = page.getByRole('region', { name: 'Order SO-4001 of channel crm' });
    await order.getByText('not found').waitFor();
    const text = await order.innerText();
    expect(text).toMatch(/Caller\s+fleet/);
    expect(text).toMatch(/ent-harbour\s+not known/);
    expect(text).toMatch(/\d\d:\d\d:\d\d\s*next, in \d+ s/);
    expect(text).toContain('channelOrderId SO-4001, channelCode crm, of ent-harbour');
  });

  it('is settled with a credential that may, after a confirmation that says what it means', async () => {
    await section('orders', 'Orders in doubt');
    await page.getByRole('button', { name: 'Settle…' }).click();
    const field = page.getByLabel('API key or token');
    const next = page.getByRole('button', { name: 'Go on' });
    for (const [credential, fault] of [
      ['two words', 'no spaces'],
      [newApiKey().key, 'does not know this credential'],
      [fleet.keys['reader'] as string, 'reader may not do this'],
    ] as const) {
      await field.fill(credential);
      await next.click();
      await page.getByRole('alert').filter({ hasText: fault }).waitFor();
    }
    await field.fill(fleet.key);
    await next.click();
    expect(await page.getByLabel('The order was not placed').isDisabled()).toBe(true);
    await page.getByText('until then the platform may still place it').waitFor();
    await next.click();
    await page.getByText('Say what you found.').waitFor();
    await page.getByLabel('The order was placed').check();
    await page.getByLabel('How did you find out?').fill('seen in the list of the platform');
    await page.getByText('Licence orders, if it was placed').click();
    await page.getByLabel('Licence order of item 1').fill('lic-7001');
    await next.click();
    await page.getByText('the customer never gets what was ordered').waitFor();
    // It is possible to see it again, and nothing has happened yet.
    await page.getByRole('button', { name: 'Back' }).click();
    expect(await page.getByLabel('How did you find out?').inputValue()).toBe(
      'seen in the list of the platform',
    );
    expect((await fleet.get(0, '/v1/license-orders/crm/SO-4001')).body['state']).toBe('in_doubt');
    await next.click();
    await page.getByRole('button', { name: 'Yes, it was placed' }).click();
    await page.getByText('the outcome of every order is known').waitFor();
    expect((await fleet.get(1, '/v1/license-orders/crm/SO-4001')).body).toMatchObject({
      state: 'succeeded',
      reason: 'seen in the list of the platform',
      items: [{ licenseOrderId: 'lic-7001' }],
    });
    const audit = () =>
      fleet.gateways[0]
        ?.output()
        .split('\n')
        .find((line) => line.includes('"operation":"settleOrder"') && line.includes('"event":"audit"'));
    await until('the settlement is in the log', () => audit() !== undefined);
    expect(JSON.parse(audit() ?? '{}')).toMatchObject({ caller: 'fleet' });
  });

  it('O11 shows what stands there, where it has got another result meanwhile', async () => {
    await orderInDoubt('SO-4003');
    await section('orders', 'Orders in doubt');
    const order = page.getByRole('region', { name: 'Order SO-4003 of channel crm' });
    await order.getByRole('button', { name: 'Settle…' }).click();
    const next = page.getByRole('button', { name: 'Go on' });
    await page.getByLabel('API key or token').fill(fleet.key);
    await next.click();
    await page.getByLabel('The order was placed').check();
    await page.getByLabel('How did you find out?').fill('a colleague says so');
    await next.click();
    const items = [{ sequence: 1, licenseOrderId: 'lic-7003' }];
    const first = { as: 'succeeded', reason: 'seen in the list of the platform', items };
    const settled = await fleet.post(1, '/v1/license-orders/crm/SO-4003/settlement', first);
    expect(settled.status).toBe(200);
    await page.getByRole('button', { name: 'Yes, it was placed' }).click();
    await page.getByText('Nothing was changed: the order has a result already.').waitFor();
    const text = await page.locator('#dialog').innerText();
    expect(text).toContain('settled the order as succeeded');
    expect(text).toContain('item 1 as lic-7003. Reason: seen in the list of the platform');
    expect(text).toContain('Reason: a colleague says so');
    expect(await seriousFindings(page)).toEqual([]);
    await page.locator('#dialog').getByRole('button', { name: 'Close' }).click();
    await order.waitFor({ state: 'detached' });
    expect((await fleet.get(0, '/v1/license-orders/crm/SO-4003')).body).toEqual(settled.body);
  });

  it('O12 shows an order that the platform accepted long ago, which is settled as not placed at once', async () => {
    const order = {
      channelCode: 'crm',
      channelOrderId: 'SO-4004',
      syncMode: 'async',
      items: [
        {
          orderType: 'delete_asset',
          licenseType: 'cloud_account',
          srcLicenseOrderId: 'lic-1009',
          customer: { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' },
          assets: [{ assetNums: ['8000001009'] }],
        },
      ],
    };
    expect((await fleet.post(1, '/v1/license-orders', order)).status).toBe(202);
    await attention('1 order accepted and not seen since').waitFor();
    expect(await page.locator('.attention').innerText()).toContain('OrdersAccepted');
    await section('orders', 'Orders in doubt');
    const card = page.getByRole('region', { name: 'Order SO-4004 of channel crm' });
    await card.getByText('ask the owner of the platform whether it still works on it').waitFor();
    expect(await card.innerText()).toMatch(/accepted[^]*The gateway cannot look for it/);
    await card.getByRole('button', { name: 'Settle…' }).click();
    const next = page.getByRole('button', { name: 'Go on' });
    await page.getByLabel('API key or token').fill(fleet.key);
    await next.click();
    await page.getByLabel('The order was not placed').check();
    await page.getByLabel('How did you find out?').fill('the owner of the platform has dropped it');
    await next.click();
    await page.getByRole('button', { name: 'Yes, it was not placed' }).click();
    await card.waitFor({ state: 'detached' });
    expect((await fleet.get(0, '/v1/license-orders/crm/SO-4004')).body['state']).toBe('not_placed');
  });

  it('keeps the credential in the memory of the tab only, and is used with the keyboard alone', async () => {
    await orderInDoubt('SO-4002');
    await section('orders', 'Orders in doubt');
    const button = page.getByRole('button', { name: 'Settle…' });
    await button.waitFor();
    await page.locator('#pause').focus();
    while (!(await isFocused(button))) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.keyboard.type(fleet.key);
    await page.keyboard.press('Enter');
    await page.getByText('As the caller fleet').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('#dialog').waitFor({ state: 'hidden' });
    expect(await isFocused(button)).toBe(true);
    expect(
      await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])'),
    ).toBe('[{},{},""]');
    expect(await page.content()).not.toContain(fleet.key);
    await page.keyboard.press('Enter');
    await page.getByText('As the caller fleet').waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Settle…' }).click();
    await page.getByLabel('API key or token').waitFor();
  });
});

it('G12 gaps are a table to copy, and callers show who is refused and what is left', async () => {
  await sandbox.fault({ operation: 'listMembers', times: 1, action: { patch: { data: { surprise: 1 } } } });
  expect((await fleet.get(0, '/v1/enterprises/ent-harbour/members')).status).toBe(200);
  await section('gaps', 'Gaps');
  await page
    .getByRole('row', { name: /listMembers data\.surprise a field that the interface does not have 1/ })
    .waitFor();
  await page.getByRole('button', { name: 'Copy as a table' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(
    /^\| Operation \| Field .*\n\| --- .*\n(.*\n)*\| listMembers \| data\.surprise \| a field that the interface does not have \| 1 \|/,
  );

  for (let count = 0; count < 5; count++)
    await fleet.get(0, ASSETS, { 'x-api-key': fleet.keys['portal'] as string });
  await section('callers', 'Callers');
  await row('portal').filter({ hasText: '3 in 3600 s' }).waitFor();
  await row('portal').filter({ hasText: '▲2' }).waitFor();
  await row('portal')
    .filter({ has: page.getByRole('cell', { name: '0 of 3 in 3600 s', exact: true }) })
    .waitFor();
  expect(await row('silent').innerText()).toMatch(/^silent\s+0/);
  const state = await (await fetch(`${consoleUrl}/state`)).text();
  for (const secret of [fleet.key, ...Object.values(fleet.keys), sandbox.appSecret, sandbox.seedPassword])
    expect(state).not.toContain(secret);
});

describe('G12 jobs', () => {
  const importOf = async (rows: readonly string[]): Promise<string> => {
    const response = await fetch(`${fleet.gateways[0]?.url}/v1/enterprises/ent-harbour/member-imports`, {
      method: 'POST',
      headers: { 'x-api-key': fleet.key, 'content-type': 'text/csv' },
      body: ['account,password,name', ...rows, ''].join('\r\n'),
    });
    expect(response.status).toBe(202);
    return ((await response.json()) as { jobId: string }).jobId;
  };
  const person = (account: string) => `${account},${newSecret('m')},Name`;

  it('show progress and failed rows without accounts', async () => {
    const jobId = await importOf([person('newcomer1'), person('anna')]);
    await section('jobs', 'Jobs');
    const job = page.getByRole('row').filter({ hasText: jobId });
    await job.filter({ hasText: 'completed' }).filter({ hasText: '2 of 2' }).waitFor();
    await job.getByRole('button', { name: 'Show failed rows' }).click();
    const failed = page.getByRole('region', { name: 'Failed rows' });
    await failed.getByRole('row', { name: /^2 failed/ }).waitFor();
    expect(await page.locator('main').innerText()).not.toContain('anna');
  });

  it('are cancelled with a credential, after a confirmation', async () => {
    await sandbox.fault({ operation: 'addMembers', action: { delayMs: 2_000 } });
    const jobId = await importOf(Array.from({ length: 5_000 }, (_, index) => person(`many${index}`)));
    await section('jobs', 'Jobs');
    const job = page.getByRole('row').filter({ hasText: jobId });
    await job.getByRole('button', { name: 'Cancel…' }).click();
    await page.getByLabel('with the scope members:write').fill(fleet.key);
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByText('What was sent is finished, and stays.').waitFor();
    await page.getByRole('button', { name: 'Yes, cancel the job' }).click();
    await job.filter({ hasText: 'cancelled' }).waitFor();
    expect((await fleet.get(1, `/v1/jobs/${jobId}`)).body['state']).toBe('cancelled');
    await sandbox.reset();
  });
});

describe('G12 for every operator', () => {
  it.each([
    ['light', DESKTOP, true],
    ['dark', PHONE, true],
    ['light', PHONE, false],
    ['dark', DESKTOP, false],
  ] as const)(
    'in %s colours, %o: nothing hinders, and nothing scrolls sideways',
    async (colorScheme, viewport, isSearched) => {
      await context.close();
      await open({ colorScheme, viewport });
      const titles = {
        now: 'Now',
        orders: 'Orders in doubt',
        gaps: 'Gaps',
        jobs: 'Jobs',
        callers: 'Callers',
      };
      for (const name of SECTIONS) {
        await section(name, titles[name]);
        await page.locator('main .panel').first().waitFor();
        expect([name, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([
          name,
          viewport.width,
        ]);
        const cut =
          "[...document.querySelectorAll('.scroll')].filter((each) => each.scrollWidth > each.clientWidth)";
        expect([name, await page.evaluate(`${cut}.map((each) => each.innerText)`)]).toEqual([name, []]);
        if (isSearched) expect(await seriousFindings(page)).toEqual([]);
      }
      const brightness = (await page.evaluate('getComputedStyle(document.body).backgroundColor')) as string;
      expect(Number(/\d+/.exec(brightness)?.[0]) > 128).toBe(colorScheme === 'light');
      await section('orders', 'Orders in doubt');
      await page.getByRole('button', { name: 'Settle…' }).click();
      if (isSearched) expect(await seriousFindings(page)).toEqual([]);
    },
  );
});

describe('S21 the console', () => {
  it('refuses requests under a foreign name (DNS rebinding) and from other origins', async () => {
    const foreign: Record<string, string>[] = [
      { host: 'evil.example:80' },
      { host: 'evil.example' },
      { origin: 'http://evil.example' },
      { origin: 'null' },
      // A page of the public listener, which has another port.
      { 'sec-fetch-site': 'same-site' },
    ];
    for (const headers of foreign) {
      for (const path of ['/state', '/orders', ''])
        expect([headers, path, await statusOf('GET', path, headers)]).toEqual([headers, path, 403]);
      const settlement = '/api/v1/license-orders/crm/SO-4001/settlement';
      expect([headers, await statusOf('POST', settlement, headers)]).toEqual([headers, 403]);
    }
  });

  it('is opened by a link of a dashboard, by localhost and by an address', async () => {
    expect(await statusOf('GET', '', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' })).toBe(
      200,
    );
    expect(await statusOf('GET', '/state', { host: 'localhost:9464' })).toBe(200);
    expect(await statusOf('GET', '/state', { host: '[::1]:9464' })).toBe(200);
  });

  it('changes nothing without a credential, and passes on its own operations only', async () => {
    expect(await statusOf('POST', '/api/v1/license-orders/crm/SO-4002/settlement')).toBe(401);
    expect(await statusOf('POST', '/state')).toBe(405);
    for (const path of [
      '/api/v1/license-orders',
      '/api/v1/callers',
      '/api//v1/callers/me',
      '/../metrics',
      '/nothing',
    ])
      expect([path, await statusOf('GET', path, { 'x-api-key': fleet.key })]).toEqual([path, 404]);
    expect((await fetch(`${fleet.gateways[0]?.url}/console`)).status).not.toBe(200);
  });

  it('is not framed, not cached, and runs no foreign script', async () => {
    const { headers } = await fetch(consoleUrl);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'");
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('cache-control')).toBe('no-store');
  });
});

it('G12 a replica that dies is called silent', async () => {
  await page.getByRole('heading', { name: 'Replicas' }).waitFor();
  fleet.gateways[1]?.child.kill('SIGKILL');
  await attention(/Replica .* is silent/).waitFor();
  expect(await page.locator('.attention').innerText()).toContain('GatewayDown');
});

// The last, since the gateway remembers a refusal for a while.
it('G12 the cause is named where the platform refuses the credentials', async () => {
  await sandbox.acceptSecrets('another');
  await sandbox.revokeTokens();
  await fleet.get(0, ASSETS);
  await sandbox.acceptSecrets(sandbox.appSecret);
  await attention('The platform refuses the credentials of the gateway').waitFor();
  const text = await page.locator('.attention').innerText();
  expect(text).toContain('UPSTREAM_APP_SECRET');
  expect(text).toContain('CredentialsRefused');
});

/** The status of a request whose `Host` and `Origin` may be anything. */
async function statusOf(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<number | undefined> {
  const { hostname, port } = new URL(consoleUrl);
  const asked = httpRequest({ hostname, port, method, path: `/console${path}`, headers, agent: false }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  return response.statusCode;
}
