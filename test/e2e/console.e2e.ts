import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { DESKTOP, PHONE, seriousFindings, useVisits } from '../support/browser.ts';
import { newApiKey, newSecret } from '../support/canary.ts';
import { Fleet } from '../support/fleet.ts';
import { orderOf } from '../support/order-body.ts';
import { until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** The operator's console in a browser, on the management listener of one of two replicas of the built gateway. */

const SECTIONS = {
  now: 'Now',
  orders: 'Orders in doubt',
  gaps: 'Gaps',
  jobs: 'Jobs',
  callers: 'Callers',
} as const;
const ASSETS = '/v1/enterprises/ent-harbour/assets';

let sandbox: TestSandbox;
let fleet: Fleet;
let consoleUrl: string;
let page: Page;
const visit = useVisits({ often: true });

beforeAll(async () => {
  sandbox = await TestSandbox.start();
  fleet = await Fleet.start(sandbox, 2, {
    environment: { ACCEPTED_ALERT_AFTER_MS: '1' },
    how: { disturbed: true },
    redis: ['--appendonly', 'yes', '--appendfsync', 'always'],
    callers: [
      { name: 'portal', scopes: ['orders:read'], rateLimit: { requests: 3, perSeconds: 3_600 } },
      { name: 'reader', scopes: ['orders:read'] },
      { name: 'silent' },
    ],
  });
  consoleUrl = `${fleet.gateways[0]?.managementUrl}/console`;
});
afterAll(async () => {
  await fleet.stop();
  await sandbox.close();
});
beforeEach(async () => {
  await visit.open(consoleUrl, { permissions: ['clipboard-read', 'clipboard-write'] });
  ({ page } = visit);
  await page.getByRole('heading', { name: 'Now' }).waitFor();
});

async function section(name: keyof typeof SECTIONS): Promise<void> {
  await page.locator(`nav a[href="#${name}"]`).click();
  await page.getByRole('heading', { name: SECTIONS[name], level: 1 }).waitFor();
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
  // An outage before may be over for one replica, and not for the other yet.
  await until('the replica takes orders', async () => {
    const ready = await fetch(`${fleet.gateways[1]?.url}/health/ready`);
    return ((await ready.json()) as { orders: string }).orders === 'up';
  });
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

const SEEN = 'seen in the list of the platform';
const goOn = () => page.getByRole('button', { name: 'Go on' }).click();
const orderCard = (number: string): Locator =>
  page.getByRole('region', { name: `Order ${number} of channel crm` });

/** Opens the settlement of an order with the credential that may do it. */
async function openSettlement(number: string): Promise<void> {
  await orderCard(number).getByRole('button', { name: 'Settle…' }).click();
  await page.getByLabel('API key or token').fill(fleet.key);
  await goOn();
}

/** Says what became of the order, up to the last question. */
async function judge(what: 'placed' | 'not placed', reason: string): Promise<void> {
  await page.getByLabel(`The order was ${what}`).check();
  await page.getByLabel('How did you find out?').fill(reason);
}

const recordOf = async (number: string) => (await fleet.get(0, `/v1/license-orders/crm/${number}`)).body;

describe('G12 orders in doubt', () => {
  // The first look for an order comes after a while, in which the others run.
  beforeAll(() => orderInDoubt('SO-4001'));

  it('O11 show what stands there, where they have got another result meanwhile', async () => {
    await orderInDoubt('SO-4003');
    await section('orders');
    await openSettlement('SO-4003');
    await judge('placed', 'a colleague says so');
    await goOn();
    const items = [{ sequence: 1, licenseOrderId: 'lic-7003' }];
    const first = { as: 'succeeded', reason: SEEN, items };
    const settled = await fleet.post(1, '/v1/license-orders/crm/SO-4003/settlement', first);
    expect(settled.status).toBe(200);
    await page.getByRole('button', { name: 'Yes, it was placed' }).click();
    await page.getByText('Nothing was changed: the order has a result already.').waitFor();
    const text = await page.locator('#dialog').innerText();
    expect(text).toContain('settled the order as succeeded');
    expect(text).toContain(`item 1 as lic-7003. Reason: ${SEEN}`);
    expect(text).toContain('Reason: a colleague says so');
    expect(await seriousFindings(page, '#dialog')).toEqual([]);
    await page.locator('#dialog').getByRole('button', { name: 'Close' }).click();
    await orderCard('SO-4003').waitFor({ state: 'detached' });
    expect(await recordOf('SO-4003')).toEqual(settled.body);
  });

  it('O12 are also those that the platform accepted long ago, which are settled as not placed at once', async () => {
    const deletion = {
      orderType: 'delete_asset',
      licenseType: 'cloud_account',
      srcLicenseOrderId: 'lic-1009',
      customer: { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' },
      assets: [{ assetNums: ['8000001009'] }],
    };
    const order = orderOf('SO-4004', { syncMode: 'async', items: [deletion] });
    expect((await fleet.post(1, '/v1/license-orders', order)).status).toBe(202);
    await attention('1 order accepted and not seen since').waitFor();
    expect(await page.locator('.attention').innerText()).toContain('OrdersAccepted');
    await section('orders');
    const card = orderCard('SO-4004');
    await card.getByText('ask the owner of the platform whether it still works on it').waitFor();
    expect(await card.innerText()).toMatch(/accepted[^]*The gateway cannot look for it/);
    await openSettlement('SO-4004');
    await judge('not placed', 'the owner of the platform has dropped it');
    await goOn();
    await page.getByRole('button', { name: 'Yes, it was not placed' }).click();
    await card.waitFor({ state: 'detached' });
    expect((await recordOf('SO-4004'))['state']).toBe('not_placed');
  });

  it('show whose, since when, what each look found and what to check, and are settled by who may, after a confirmation', async () => {
    await attention('1 order in doubt').waitFor();
    await page.getByRole('link', { name: 'Show' }).first().click();
    const order = orderCard('SO-4001');
    await order.getByText('not found').waitFor();
    const text = await order.innerText();
    expect(text).toMatch(/Caller\s+fleet/);
    expect(text).toMatch(/ent-harbour\s+not known/);
    expect(text).toMatch(/\d\d:\d\d:\d\d\s*next, in \d+ s/);
    expect(text).toContain('channelOrderId SO-4001, channelCode crm, of ent-harbour');

    await order.getByRole('button', { name: 'Settle…' }).click();
    for (const [credential, fault] of [
      ['two words', 'no spaces'],
      [newApiKey().key, 'does not know this credential'],
      [fleet.keys['reader'] as string, 'reader may not do this'],
    ] as const) {
      await page.getByLabel('API key or token').fill(credential);
      await goOn();
      await page.getByRole('alert').filter({ hasText: fault }).waitFor();
    }
    await page.getByLabel('API key or token').fill(fleet.key);
    await goOn();
    expect(await page.getByLabel('The order was not placed').isDisabled()).toBe(true);
    await page.getByText('until then the platform may still place it').waitFor();
    await goOn();
    await page.getByText('Say what you found.').waitFor();
    await judge('placed', SEEN);
    await page.getByText('Licence orders, if it was placed').click();
    await page.getByLabel('Licence order of item 1').fill('lic-7001');
    await goOn();
    await page.getByText('the customer never gets what was ordered').waitFor();
    // It is possible to see it again, and nothing has happened yet.
    await page.getByRole('button', { name: 'Back' }).click();
    expect(await page.getByLabel('How did you find out?').inputValue()).toBe(SEEN);
    expect((await recordOf('SO-4001'))['state']).toBe('in_doubt');
    await goOn();
    await page.getByRole('button', { name: 'Yes, it was placed' }).click();
    await page.getByText('the outcome of every order is known').waitFor();
    expect(await recordOf('SO-4001')).toMatchObject({
      state: 'succeeded',
      reason: SEEN,
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

  it('leave the credential in the memory of the tab only, and are settled with the keyboard alone', async () => {
    await orderInDoubt('SO-4002');
    await section('orders');
    const button = orderCard('SO-4002').getByRole('button', { name: 'Settle…' });
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
    await button.click();
    await page.getByLabel('API key or token').waitFor();
  });
});

it('G12 gaps are a table to copy, and callers show who is refused and what is left', async () => {
  await sandbox.fault({ operation: 'listMembers', times: 1, action: { patch: { data: { surprise: 1 } } } });
  expect((await fleet.get(0, '/v1/enterprises/ent-harbour/members')).status).toBe(200);
  await section('gaps');
  await page
    .getByRole('row', { name: /listMembers data\.surprise a field that the interface does not have 1/ })
    .waitFor();
  await page.getByRole('button', { name: 'Copy as a table' }).click();
  // The page says `Copied` until it draws the table again.
  await page.waitForFunction('navigator.clipboard.readText()');
  expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(
    /^\| Operation \| Field .*\n\| --- .*\n(.*\n)*\| listMembers \| data\.surprise \| a field that the interface does not have \| 1 \|/,
  );

  for (let count = 0; count < 5; count++)
    await fleet.get(0, ASSETS, { 'x-api-key': fleet.keys['portal'] as string });
  await section('callers');
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
  const password = newSecret('m');
  const person = (account: string) => `${account},${password},Name`;

  it('show progress and failed rows without accounts, and are cancelled with a credential, after a confirmation', async () => {
    const jobId = await importOf([person('newcomer1'), person('anna')]);
    await section('jobs');
    const job = page.getByRole('row').filter({ hasText: jobId });
    await job.filter({ hasText: 'completed' }).filter({ hasText: '2 of 2' }).waitFor();
    await job.getByRole('button', { name: 'Show failed rows' }).click();
    const failed = page.getByRole('region', { name: 'Failed rows' });
    await failed.getByRole('row', { name: /^2 failed/ }).waitFor();
    expect(await page.locator('main').innerText()).not.toContain('anna');

    await sandbox.fault({ operation: 'addMembers', action: { delayMs: 1_000 } });
    const long = await importOf(Array.from({ length: 5_000 }, (_, index) => person(`many${index}`)));
    const running = page.getByRole('row').filter({ hasText: long });
    await running.getByRole('button', { name: 'Cancel…' }).click();
    await page.getByLabel('with the scope members:write').fill(fleet.key);
    await goOn();
    await page.getByText('What was sent is finished, and stays.').waitFor();
    await page.getByRole('button', { name: 'Yes, cancel the job' }).click();
    await running.filter({ hasText: 'cancelled' }).waitFor();
    expect((await fleet.get(1, `/v1/jobs/${long}`)).body['state']).toBe('cancelled');
    await sandbox.reset();
  });
});

it('G12 nothing hinders an operator, and nothing scrolls sideways, in light colours on a desk and in dark ones on a phone', async () => {
  await orderInDoubt('SO-5001');
  const settle = orderCard('SO-5001').getByRole('button', { name: 'Settle…' });
  for (const [colorScheme, viewport] of [
    ['light', DESKTOP],
    ['dark', PHONE],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    for (const name of Object.keys(SECTIONS) as (keyof typeof SECTIONS)[]) {
      await section(name);
      await page.locator('main .panel').first().waitFor();
      const cut =
        "[...document.querySelectorAll('.scroll')].filter((each) => each.scrollWidth > each.clientWidth)";
      expect({
        name,
        width: await page.evaluate('document.documentElement.scrollWidth'),
        cut: await page.evaluate(`${cut}.map((each) => each.innerText)`),
        findings: await seriousFindings(page),
      }).toEqual({ name, width: viewport.width, cut: [], findings: [] });
    }
    const brightness = (await page.evaluate('getComputedStyle(document.body).backgroundColor')) as string;
    expect(Number(/\d+/.exec(brightness)?.[0]) > 128).toBe(colorScheme === 'light');
    await section('orders');
    await settle.click();
    expect(await seriousFindings(page, '#dialog')).toEqual([]);
    await page.keyboard.press('Escape');
  }
});

// The last, since a replica is dead then, and the other one remembers the refusal for a while.
it('G12 a replica that dies is called silent, and the cause is named where the platform refuses the credentials', async () => {
  await page.getByRole('heading', { name: 'Replicas' }).waitFor();
  fleet.gateways[1]?.child.kill('SIGKILL');
  await sandbox.acceptSecrets('another');
  await sandbox.revokeTokens();
  await fleet.get(0, ASSETS);
  await sandbox.acceptSecrets(sandbox.appSecret);
  await attention('The platform refuses the credentials of the gateway').waitFor();
  await fleet.gateways[0]?.disturb({ clock: 20_000 });
  await attention(/Replica .* is silent/).waitFor();
  const text = await page.locator('.attention').innerText();
  for (const word of ['UPSTREAM_APP_SECRET', 'CredentialsRefused', 'GatewayDown'])
    expect(text).toContain(word);
});
