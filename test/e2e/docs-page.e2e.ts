import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { prepareDemo } from '../../scripts/demo-state.ts';
import { newVisit, seriousFindings, startBrowser } from '../support/browser.ts';
import { newApiKey } from '../support/canary.ts';
import { routes } from '../support/contract.ts';
import { Fleet } from '../support/fleet.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** The API page in a browser, in front of the built gateway and a fresh demo. */

const DESKTOP = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
/** An open operation fits so many screens. */
const SCREENS = 3;

let sandbox: TestSandbox;
let fleet: Fleet;
let browser: Browser;
let url: string;

beforeAll(async () => {
  sandbox = await TestSandbox.start();
  [fleet, browser] = await Promise.all([
    // The id of the example's job is made of the caller, too.
    Fleet.start(sandbox, 1, { environment: { DOCS: 'on' }, caller: { name: 'demo' } }),
    startBrowser(),
  ]);
  url = fleet.gateways[0]?.url as string;
  await prepareDemo({ gatewayUrl: url, key: fleet.key, sandboxUrl: sandbox.url });
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

/** A new visitor. */
async function open(options: Parameters<Browser['newContext']>[0]): Promise<void> {
  // Tests ask for refusals.
  ({ context, page, complaints } = await newVisit(browser, { viewport: DESKTOP, ...options }, '4'));
  await page.goto(`${url}/`);
  await page.locator('.opblock').first().waitFor();
}

async function reopen(options: Parameters<Browser['newContext']>[0]): Promise<void> {
  await context.close();
  await open(options);
}

async function authorize(text: string): Promise<void> {
  await page.locator('#authorize').click();
  await page.locator('#credential').fill(text);
  await page.getByRole('button', { name: 'Use it' }).click();
}

async function authorized(): Promise<void> {
  await authorize(fleet.key);
  await page.getByText('Authorized: demo').waitFor();
}

const operation = (id: string): Locator => page.locator(`.opblock[id$="-${id}"]`);

async function openOperation(id: string): Promise<Locator> {
  const block = operation(id);
  await block.locator('.opblock-summary-control').click();
  await block.locator('.responses-table').first().waitFor();
  return block;
}

/** Presses the button, and returns the status and the body that the page shows. */
async function execute(block: Locator): Promise<{ status: string; text: string }> {
  const live = block.locator('.live-responses-table');
  const clear = block.getByRole('button', { name: 'Clear' });
  if (await clear.isVisible()) await clear.click();
  await live.waitFor({ state: 'detached' });
  await block.getByRole('button', { name: 'Execute' }).click();
  await live.waitFor();
  return {
    status: await live.locator('.response-col_status').last().innerText(),
    text: await live.locator('.response-col_description').last().innerText(),
  };
}

const parameter = (block: Locator, name: string): Locator =>
  block.locator(`tr[data-param-name="${name}"] input`);

describe('the first five minutes', () => {
  it('open, authorize, buy, see, revoke, and a mistake with its page', async () => {
    expect(new URL(page.url()).pathname).toBe('/docs');
    expect(await page.title()).toBe('Licensing gateway: the API');
    for (const word of ['enterprise', 'channel', 'customer', 'asset', 'lent lock', 'member'])
      expect(await page.getByRole('cell', { name: word, exact: true }).count()).toBe(1);

    await page.locator('#authorize').click();
    expect(await page.locator('#hint').innerText()).toContain('The demo prints its key in the terminal');
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await authorized();

    const place = await openOperation('placeOrder');
    expect((await execute(place)).status).toBe('201');

    const made = await openOperation('getOrderAssets');
    await parameter(made, 'channelOrderId').fill('SO-2001');
    const { text } = await execute(made);
    const licenseOrderId = /"licenseOrderId": "(\w+)"/.exec(text)?.[1] as string;
    const assetNum = /"assetNum": "(\d+)"/.exec(text)?.[1] as string;
    const list = await openOperation('listAssets');
    expect((await execute(list)).text).toContain(assetNum);

    const body = place.locator('textarea');
    await place.locator('.examples-select select').first().selectOption('deleteAsset');
    const revoke = JSON.parse(await body.inputValue()) as any;
    revoke.channelOrderId = 'SO-2901';
    revoke.items[0].srcLicenseOrderId = licenseOrderId;
    revoke.items[0].assets[0].assetNums = [assetNum];
    await body.fill(JSON.stringify(revoke, null, 2));
    expect((await execute(place)).status).toBe('201');
    expect((await execute(list)).text).not.toContain(assetNum);

    await body.fill(JSON.stringify({ ...revoke, channelOrderId: 'SO-2902', colour: 'red' }));
    const mistake = await execute(place);
    expect([mistake.status, mistake.text]).toEqual(['400', expect.stringContaining('"/colour"')]);
    const [explanation] = await Promise.all([
      context.waitForEvent('page'),
      place.getByRole('link', { name: 'What validation-failed means' }).click(),
    ]);
    await explanation.getByRole('heading', { name: 'What to do' }).waitFor();
    expect(await explanation.locator('h1').innerText()).toBe('The request is not valid');
  });
});

describe('Authorize', () => {
  it('takes a key as it was copied, and says what is wrong with anything else', async () => {
    await authorize(newApiKey().key);
    await page.getByText('The gateway does not know this key').waitFor();
    await page.locator('#credential').fill('aaaa.bbbb.cccc');
    await page.getByRole('button', { name: 'Use it' }).click();
    await page.getByText('This is a token, and this gateway accepts API keys only').waitFor();
    await page.locator('#credential').fill(` Authorization: Bearer ${fleet.key} `);
    await page.getByRole('button', { name: 'Use it' }).click();
    await page.getByText('Authorized: demo').waitFor();
    expect((await execute(await openOperation('getCaller'))).status).toBe('200');
  });

  it('says that a kept key is dead, at the start and at a request', async () => {
    await authorized();
    const { key } = newApiKey();
    await page.evaluate(`sessionStorage.setItem('licensing-gateway.credential', '${key}')`);
    await page.reload();
    await page.getByText('The kept credential does not work any more').waitFor();
    const { status } = await execute(await openOperation('getCaller'));
    expect(status).toBe('401');
    await page.locator('.explanation').getByRole('button', { name: 'Authorize' }).click();
    await page.locator('#credential').fill(fleet.key);
    await page.getByRole('button', { name: 'Use it' }).click();
    await page.getByText('Authorized: demo').waitFor();
    await page.locator('#notice').waitFor({ state: 'hidden' });
  });
});

describe('operations', () => {
  it(`open, each within ${SCREENS} screens, with the problems of its own`, async () => {
    // In the page itself: to wait for each click from here would take three times as long.
    const opened = (await page.evaluate(`(async () => {
      const opened = [];
      for (const { id } of [...document.querySelectorAll('.opblock')]) {
        const press = () => document.getElementById(id).querySelector('.opblock-summary-control').click();
        const shown = () => document.getElementById(id).querySelector('tr[data-code="default"] a[href="#any-request"]');
        press();
        while (!shown()) await new Promise((resolve) => requestAnimationFrame(resolve));
        opened.push([id.split('-').at(-1), document.getElementById(id).offsetHeight]);
        press();
      }
      return opened;
    })()`)) as [string, number][];
    expect(opened.map(([id]) => id).sort()).toEqual(
      routes.map((route) => route.operation.operationId).sort(),
    );
    expect(opened.filter(([, height]) => height > SCREENS * DESKTOP.height)).toEqual([]);
    const block = await openOperation('getAsset');
    const own = block.locator('tr[data-code="default"]');
    expect(await own.getByRole('link', { name: 'asset-not-found' }).getAttribute('href')).toBe(
      '/problems/asset-not-found',
    );
    expect(await own.innerText()).not.toContain('too-many-requests');
  });

  it('are found by any words of their path, name and texts', async () => {
    const find = page.getByRole('searchbox', { name: 'Find an operation' });
    await find.fill('lent lock');
    await operation('listAssets').waitFor({ state: 'detached' });
    expect(await operation('listLentLocks').count()).toBe(1);
    // What was found is in sight.
    const box = await page.locator('.opblock').first().boundingBox();
    expect(box?.y).toBeLessThan(DESKTOP.height / 3);
    await find.fill('no such words');
    await page.getByText('No operation has these words.').waitFor();
    await find.fill('');
    await operation('listAssets').waitFor();
  });

  it('have schemas without escapes, with the formats that the description explains', async () => {
    const place = await openOperation('placeOrder');
    await place.locator('.opblock-section-request-body').getByText('Schema', { exact: true }).click();
    const schema = place.locator('.opblock-section-request-body');
    await schema.getByText('PlaceOrder').first().waitFor();
    expect(await schema.innerText()).not.toContain('\\u');
    expect(await page.locator('.info').innerText()).toContain('A string of the format id has no white space');
  });

  it('are shown as code that works as it stands', async () => {
    const run = promisify(execFile);
    const environment = { env: { ...process.env, KEY: fleet.key } };
    for (const id of ['reserveAssetNums', 'listLentLocks']) {
      const block = await openOperation(id);
      await block.locator('.samples summary').click();
      const code = block.locator('.samples pre');
      const expected = id === 'reserveAssetNums' ? /requested/ : /totalPages/;
      await code.getByText('$KEY').waitFor();
      expect((await run('bash', ['-c', await code.innerText()], environment)).stdout).toMatch(expected);
      await block.getByRole('button', { name: 'TypeScript' }).click();
      await code.getByText("process.env['KEY']").waitFor();
      const script = await code.innerText();
      const flags = ['--input-type=module-typescript', '--no-warnings', '-e', script];
      expect((await run(process.execPath, flags, environment)).stdout).toMatch(expected);
    }
  });

  it('take a session from the operation that makes one, and a new idempotency key for a changed body', async () => {
    await authorized();
    for (const id of ['getSession', 'deleteSession']) {
      const { status } = await execute(await openOperation(id));
      expect([id, status]).toEqual([id, id === 'getSession' ? '200' : '204']);
    }
    const create = await openOperation('createEnterprise');
    expect((await execute(create)).status).toBe('201');
    await create
      .locator('textarea')
      .fill(JSON.stringify({ crmCustomerId: 'CRM-3999', customerName: 'Another Design' }));
    expect((await execute(create)).status).toBe('201');
    expect(await parameter(create, 'Idempotency-Key').inputValue()).toMatch(/^docs-[0-9a-f]{24}$/);
  });
});

describe('for every reader', () => {
  it.each([
    ['light', DESKTOP],
    ['dark', DESKTOP],
    ['light', PHONE],
    ['dark', PHONE],
  ] as const)(
    'in %s colours, %o: nothing hinders, and nothing scrolls sideways',
    async (colorScheme, viewport) => {
      await reopen({ colorScheme, viewport });
      await authorized();
      await execute(await openOperation('updateCustomer'));
      await openOperation('listMembers');
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(viewport.width);
      const background = await page.evaluate('getComputedStyle(document.body).backgroundColor');
      expect(background === 'rgb(255, 255, 255)').toBe(colorScheme === 'light');
      expect(await seriousFindings(page)).toEqual([]);
      await page.locator('#authorize').click();
      expect(await seriousFindings(page)).toEqual([]);
    },
  );

  it.each(['/problems', '/problems/outcome-unknown', '/docs/changelog'])(
    '%s hinders no reader either, and scrolls sideways on no phone',
    async (path) => {
      await page.goto(url + path);
      expect(await seriousFindings(page)).toEqual([]);
      await page.setViewportSize(PHONE);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width);
    },
  );
});
