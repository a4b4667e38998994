import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { prepareDemo } from '../../scripts/demo-state.ts';
import { scopes } from '../../src/request/scopes.ts';
import { DESKTOP, findings, PHONE, useVisits } from '../support/browser.ts';
import { newApiKey } from '../support/canary.ts';
import { document as api, routes } from '../support/contract.ts';
import { useStack } from '../support/stack.ts';

/** The API page in a browser, in front of the shipped gateway and a fresh demo. */

/** An open operation fits so many screens. */
const SCREENS = 3;
const DESK = { colorScheme: 'light', viewport: DESKTOP } as const;
let isAtDesk = false;

const all = { scopes: [...scopes], enterprises: ['*'], channels: ['*'], users: ['*'] };
const { sandbox, gateway } = useStack({
  environment: { DOCS: 'on', WEBHOOK_HOSTS: '127.0.0.1', ESTATE_REFRESH: '6h' },
  // The id of the example's job is made of the caller, too.
  callers: [{ name: 'demo', ...all }],
});
const visit = useVisits();
const key = () => String(gateway.keys['demo']);

beforeEach(() => prepareDemo({ gatewayUrl: gateway.url, key: key(), sandboxUrl: sandbox.url }));

async function open(options?: Parameters<typeof visit.open>[1]): Promise<Page> {
  await visit.open(`${gateway.url}/`, options);
  isAtDesk = options === DESK;
  await visit.page.locator('.opblock').first().waitFor();
  return visit.page;
}

/** Fills the open dialog, and waits until the page says so. */
async function give(credential: string, says: string): Promise<void> {
  await visit.page.locator('#credential').fill(credential);
  await visit.page.locator('#form').getByRole('button', { name: 'Authorize' }).click();
  await visit.page.getByText(says).waitFor();
}

const operation = (id: string): Locator => visit.page.locator(`.opblock[id$="-${id}"]`);

async function openOperation(id: string): Promise<Locator> {
  const block = operation(id);
  await block.locator('.opblock-summary-control').click();
  await block.locator('.responses-table').first().waitFor();
  return block;
}

/** Presses the button, and returns the status and the body that the page shows. */
async function execute(
  block: Locator,
  button: 'Execute' | 'Dry run' = 'Execute',
): Promise<{ status: string; text: string }> {
  const live = block.locator('.live-responses-table');
  const clear = block.getByRole('button', { name: 'Clear' });
  if (await clear.isVisible()) await clear.click();
  await live.waitFor({ state: 'detached' });
  await block.getByRole('button', { name: button }).click();
  await live.waitFor();
  return {
    status: await live.locator('.response-col_status').last().innerText(),
    text: await live.locator('.response-col_description').last().innerText(),
  };
}

/** Executes an operation by itself: the page draws all open ones again at each change. */
async function executeAlone(id: string): Promise<{ status: string; text: string }> {
  const block = await openOperation(id);
  const response = await execute(block);
  await block.locator('.opblock-summary-control').click();
  return response;
}

/** Below the bar, which stays at the top, and above the end of the screen. */
const expectInView = async (part: Locator) => {
  const box = await part.boundingBox();
  const bar = await visit.page.locator('.bar').boundingBox();
  expect(box?.y).toBeGreaterThanOrEqual(bar?.height ?? 0);
  expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(visit.page.viewportSize()?.height ?? 0);
};

const parameter = (block: Locator, name: string): Locator =>
  block.locator(`tr[data-param-name="${name}"] input`);

/** A slow machine draws the page for longer than most tests take. */
const PATIENCE_MS = 900_000;
/** The operations that the page lists: a dry run is a button of its write. */
const listed = routes.filter((route) => route.operation['x-dry-run-of'] === undefined);
const TAGS = [...new Set(listed.map(({ operation: { tags } }) => String(tags?.[0])))];

/**
 * Presses Dry run, where there is one, and Execute for each operation of a tag, in the page itself. A second round meets what the first has left
 * behind. Returns the statuses by operation, with the answers that are no success.
 */
const pressAll = (tag: string, order: 'forward' | 'backward'): Promise<Record<string, string[]>> =>
  visit.page.evaluate(`(async () => {
    const until = async (find) => {
      for (;;) {
        const found = find();
        if (found) return found;
        await new Promise((resolve) => requestAnimationFrame(resolve));
      }
    };
    const heading = document.querySelector('.opblock-tag[data-tag="${tag}"]');
    const section = heading.closest('.opblock-tag-section');
    if (!section.querySelector('.opblock')) heading.click();
    await until(() => section.querySelector('.opblock'));
    const ids = [...section.querySelectorAll('.opblock')].map(({ id }) => id);
    const pressed = {};
    for (const id of '${order}' === 'forward' ? ids : ids.toReversed()) {
      const part = (selector) => document.getElementById(id).querySelector(selector);
      part('.opblock-summary-control').click();
      await until(() => part('tr[data-code="default"]'));
      const answers = (pressed[id.split('-').at(-1)] = []);
      const buttons = part('.dry-run') ? ['.dry-run', '.execute'] : ['.execute'];
      for (const button of buttons) {
        part('.btn-clear')?.click();
        await until(() => !part('.live-responses-table'));
        part(button).click();
        const answer = await until(() => part('.live-responses-table .response'));
        const status = answer.querySelector('.response-col_status').innerText.trim();
        answers.push(/^2/.test(status) ? 'works' : status + ' ' + answer.innerText);
      }
      part('.opblock-summary-control').click();
    }
    heading.click();
    return pressed;
  })()`) as Promise<Record<string, string[]>>;

/** Opens the page with the key, and folds all of its operations: it draws those that are shown again at each change. */
async function openFolded(): Promise<void> {
  const page = await open();
  await page.locator('#authorize').click();
  await give(key(), 'Authorized: demo');
  await page.evaluate(`document.querySelectorAll('.opblock-tag').forEach((tag) => tag.click())`);
  await page.locator('.opblock-tag-section .opblock').first().waitFor({ state: 'detached' });
}

it('a new reader opens, authorizes after wrong keys, buys, sees, revokes, and makes a mistake with its page', async () => {
  const page = await open();
  expect(new URL(page.url()).pathname).toBe('/docs');
  expect(await page.title()).toBe('Licensing gateway: the API');
  await page.getByText('Words', { exact: true }).click();
  for (const word of ['enterprise', 'channel', 'customer', 'asset', 'lent lock', 'member'])
    expect(await page.getByRole('cell', { name: word, exact: true }).count()).toBe(1);

  await page.locator('#authorize').click();
  expect(await page.locator('#hint').innerText()).toContain('The demo prints its key in the terminal');
  await give(newApiKey().key, 'The gateway does not know this key');
  await give('aaaa.bbbb.cccc', 'This is a token, and this gateway accepts API keys only');
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.locator('#authorize').click();
  await give(` Authorization: Bearer ${key()} `, 'Authorized: demo');

  const place = await openOperation('placeOrder');
  expect((await execute(place)).status).toBe('201');

  const made = await openOperation('getOrderAssets');
  await parameter(made, 'channelOrderId').fill('SO-2001');
  const { status, text } = await execute(made);
  expect([status, text]).toEqual(['200', expect.stringContaining('"assetNum"')]);
  const licenseOrderId = /"licenseOrderId": "(\w+)"/.exec(text)?.[1] as string;
  const assetNum = /"assetNum": "(\d+)"/.exec(text)?.[1] as string;
  await made.locator('.opblock-summary-control').click();
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
    visit.context.waitForEvent('page'),
    place.getByRole('link', { name: 'What validation-failed means' }).click(),
  ]);
  await explanation.getByRole('heading', { name: 'What to do' }).waitFor();
  expect(await explanation.locator('h1').innerText()).toBe('The request is not valid');
});

describe.each([
  ['API page', () => `${gateway.url}/docs`, 'Loading the API …', /This page needs JavaScript/],
  ['console', () => `${gateway.managementUrl}/console`, 'Loading …', /The console needs JavaScript/],
] as const)('the %s', (_, url, loading, word) => {
  it('says that it loads until its script runs, and without scripts what it needs', async () => {
    expect(await (await fetch(url())).text()).toContain(loading);
    await visit.open(url());
    await visit.page.getByText(loading).waitFor({ state: 'detached' });
    await visit.open(url(), { javaScriptEnabled: false });
    const box = await visit.page.getByText(word).boundingBox();
    expect(box?.y).toBeLessThan(visit.page.viewportSize()?.height ?? 0);
    expect(await visit.page.getByText(loading).isVisible()).toBe(false);
  });
});

it.each([
  ['document does not come', 'openapi.json', { status: 503 }],
  ['document comes cut', 'openapi.json', { contentType: 'application/json', body: '{ "paths": {' }],
  ['code does not come', 'swagger-ui-bundle.js', { contentType: 'text/javascript', body: '' }],
])('a page whose %s says so', async (_, file, answer) => {
  await visit.open(`${gateway.url}/problems`);
  const { page } = visit;
  await page.route(`**/${file}`, (route) => route.fulfill(answer));
  await page.goto(`${gateway.url}/docs`);
  const word = page.getByText('The gateway does not answer. Load the page again.');
  await word.waitFor();
  expect(await page.getByText('Loading the API …').count()).toBe(0);
});

it('a kept key that is dead is named and replaced; sessions and idempotency keys are taken care of', async () => {
  // A page of the same origin, which loads fast.
  await visit.open(`${gateway.url}/problems`);
  const { page } = visit;
  const dead = newApiKey().key;
  await page.evaluate(`sessionStorage.setItem('licensing-gateway.credential', '${dead}')`);
  await page.goto(`${gateway.url}/docs`);
  await page.getByText('The kept credential does not work any more').waitFor();
  const caller = await openOperation('getCaller');
  expect((await execute(caller)).status).toBe('401');
  await page.locator('.explanation').getByRole('button', { name: 'Authorize' }).click();
  await give(key(), 'Authorized: demo');
  await page.locator('#credential-notice').waitFor({ state: 'hidden' });
  await caller.locator('.opblock-summary-control').click();

  for (const [id, expected] of [
    ['getSession', '200'],
    ['deleteSession', '204'],
  ] as const) {
    expect([id, (await executeAlone(id)).status]).toEqual([id, expected]);
  }
  const { status: streamed, text } = await executeAlone('watchEvents');
  expect([streamed, text]).toEqual(['200', expect.stringMatching(/^id: \d/m)]);
  const create = await openOperation('createEnterprise');
  expect((await execute(create)).status).toBe('201');
  const another = { crmCustomerId: 'CRM-3999', customerName: 'Another Design' };
  await create.locator('textarea').fill(JSON.stringify(another));
  expect((await execute(create)).status).toBe('201');
  expect(await parameter(create, 'Idempotency-Key').inputValue()).toMatch(/^docs-[0-9a-f]{24}$/);
});

/** One visit of a desk, in light colours and with the key, for several tests. */
async function atDesk(): Promise<Page> {
  if (isAtDesk) return visit.page;
  const page = await open(DESK);
  await page.locator('#authorize').click();
  await give(key(), 'Authorized: demo');
  return page;
}

describe('operations', () => {
  it(`O17 open, webhooks too, each within ${SCREENS} screens, with the problems of its own`, async () => {
    const page = await atDesk();
    // The clicks run in the page itself. To wait for each click from here would take three times as long.
    const opened = (await page.evaluate(`(async () => {
      const opened = [];
      for (const { id } of [...document.querySelectorAll('.opblock')]) {
        const press = () => document.getElementById(id).querySelector('.opblock-summary-control').click();
        const shown = () => document.getElementById(id).querySelector('tr[data-code="default"]');
        press();
        while (!shown()) await new Promise((resolve) => requestAnimationFrame(resolve));
        opened.push([id.split('-').at(-1), document.getElementById(id).offsetHeight]);
        press();
      }
      return opened;
    })()`)) as [string, number][];
    expect(opened.map(([id]) => id).sort()).toEqual(
      [...listed.map((route) => route.operation.operationId), ...Object.keys(api.webhooks)].sort(),
    );
    expect(opened.filter(([, height]) => height > SCREENS * DESKTOP.height)).toEqual([]);
    const block = await openOperation('getAsset');
    const own = block.locator('tr[data-code="default"]');
    expect(await own.getByRole('link', { name: 'asset-not-found' }).getAttribute('href')).toBe(
      '/problems/asset-not-found',
    );
    expect(await own.innerText()).not.toContain('too-many-requests');
    expect(await own.locator('a[href="#any-request"]').count()).toBe(1);
    await block.locator('.opblock-summary-control').click();
  });

  it('are found as one types, by / and Ctrl-K, with fields and problems, and by the list beside', async () => {
    const page = await atDesk();
    const hits = (kind: string) => page.getByRole('group', { name: kind }).getByRole('option');
    await page.keyboard.press('/');
    await page.keyboard.type('lent lock');
    await hits('Operations').filter({ hasText: 'listLentLocks' }).waitFor();
    expect(await hits('Fields').first().innerText()).toContain('lentLock');
    expect(await hits('Problems').allInnerTexts()).toContainEqual(
      expect.stringContaining('lent-lock-abnormal'),
    );
    await page.keyboard.press('Escape');
    await page.locator('#hits').waitFor({ state: 'hidden' });

    await page.keyboard.press('Control+k');
    await page.keyboard.type('srcLicenseOrderId');
    await hits('Fields').first().waitFor();
    await page.keyboard.press('Enter');
    await operation('placeOrder').locator('.responses-table').first().waitFor();
    await expectInView(operation('placeOrder').locator('.opblock-summary'));
    expect(await page.locator('#list [aria-current]').innerText()).toContain('placeOrder');

    const beside = page.getByRole('navigation', { name: 'Operations' });
    expect(await beside.getByRole('link').count()).toBe(listed.length);
    await beside.getByRole('link', { name: 'getOverview' }).click();
    await operation('getOverview').locator('.responses-table').first().waitFor();
    await expectInView(operation('getOverview').locator('.opblock-summary'));
    for (const id of ['placeOrder', 'getOverview'])
      await operation(id).locator('.opblock-summary-control').click();

    const find = page.getByRole('combobox', { name: 'Find tasks, operations, fields and problems' });
    await find.fill('asset-not-found');
    const [explanation] = await Promise.all([visit.context.waitForEvent('page'), find.press('Enter')]);
    await explanation.getByRole('heading', { name: 'What to do' }).waitFor();
    await explanation.close();
    await page.bringToFront();
    await find.fill('no such words');
    await page.getByText('Nothing has these words.').waitFor();
    await find.fill('');
  });

  it('are found by a search after one to which the gateway did not answer, also in forced colours', async () => {
    const page = await open({ forcedColors: 'active' });
    await page.evaluate('window.kept = fetch; window.fetch = () => Promise.reject(new TypeError())');
    await page.locator('#find').fill('no such words');
    await page.getByText('The gateway does not answer, so recipes and problems are not searched.').waitFor();
    await page.evaluate('window.fetch = kept');
    await page.locator('#find').fill('order-not-settleable');
    await page.getByRole('group', { name: 'Problems' }).getByRole('option').waitFor();
    const looks = page.evaluate<string[]>(
      "[...document.querySelectorAll('#hits a')].map((each) => getComputedStyle(each).textDecorationLine)",
    );
    expect(new Set((await looks).slice(1))).toEqual(new Set(['none']));
    expect((await looks)[0]).toBe('underline');
  });

  it('are found by the words of tasks, with recipes and codes of the platform', async () => {
    const page = await atDesk();
    const find = page.getByRole('combobox', { name: 'Find tasks, operations, fields and problems' });
    const hits = (kind: string) => page.getByRole('group', { name: kind }).getByRole('option');
    await find.fill('how do I renew');
    await hits('Operations').filter({ hasText: 'placeOrder' }).waitFor();
    const [recipe] = await Promise.all([
      visit.context.waitForEvent('page'),
      hits('Recipes')
        .filter({ hasText: /^Renew/ })
        .click(),
    ]);
    await recipe.waitForURL('**/docs/recipes#2-renew');
    await recipe.close();
    await page.bringToFront();
    await find.fill('60009');
    expect(await hits('Codes of the platform').first().innerText()).toContain('The trial of the enterprise');
    expect(await hits('Codes of the platform').first().getAttribute('href')).toBe('/problems#60009');

    // Each word of the list leads to what the list says, which is all there.
    const dryRuns = listed.flatMap(({ operation: { operationId, 'x-dry-run': dryRun } }) =>
      dryRun === undefined ? [] : [operationId],
    );
    const missed = await page.evaluate(`(async () => {
      const { entriesOf, hitsFor } = await import('/docs/entries.js');
      const found = await entriesOf(await (await fetch('/openapi.json')).json());
      const { tasks } = await (await fetch('/docs/tasks.json')).json();
      const withExtension = { 'x-dry-run': ${JSON.stringify(dryRuns)} };
      return tasks.flatMap(({ words, operations, extension, recipes = [] }) =>
        words.split(' ').flatMap((word) => {
          const names = hitsFor(found, word).map(({ kind, name }) => kind + ' ' + name);
          const ids = operations ?? withExtension[extension];
          const wanted = [...ids.map((id) => 'operation ' + id), ...recipes.map((title) => 'recipe ' + title)];
          return wanted.filter((each) => !names.includes(each)).map((each) => word + ': ' + each);
        }),
      );
    })()`);
    expect(missed).toEqual([]);
    await find.fill('');
  });

  it('open from the page of a problem that they answer', async () => {
    await visit.open(`${gateway.url}/problems/order-not-settleable`);
    isAtDesk = false;
    await visit.page.getByRole('link', { name: 'settleOrder' }).click();
    await operation('settleOrder').locator('.responses-table').first().waitFor();
    await expectInView(operation('settleOrder').locator('.opblock-summary'));
    // A link that is pasted into the tab of the page only changes its address.
    await visit.page.evaluate("location.hash = '#getOverview'");
    await operation('getOverview').locator('.responses-table').first().waitFor();
  });

  it('have their dry run beside Execute, which sends nothing, and are themselves sent afterwards', async () => {
    const page = await atDesk();
    expect(await page.locator('.opblock[id*="dryRun"]').count()).toBe(0);
    const place = await openOperation('placeOrder');
    const body = place.locator('textarea');
    const order = JSON.parse(await body.inputValue()) as object;
    await body.fill(JSON.stringify({ ...order, channelOrderId: 'SO-2911', colour: 'red' }));
    const mistake = await execute(place, 'Dry run');
    expect([mistake.status, mistake.text]).toEqual(['400', expect.stringContaining('"/colour"')]);
    await place.getByRole('link', { name: 'What validation-failed means' }).waitFor();
    await body.fill(JSON.stringify({ ...order, channelOrderId: 'SO-2911' }));
    const dry = await execute(place, 'Dry run');
    expect([dry.status, dry.text]).toEqual(['200', expect.stringContaining('"wouldSend"')]);
    await place.getByText('The answer of a dry run').waitFor();
    const placed = async () => (await sandbox.commits()).map(({ channelOrderId }) => channelOrderId);
    expect(await placed()).not.toContain('SO-2911');
    expect((await execute(place)).status).toBe('201');
    expect(await placed()).toContain('SO-2911');
    expect(await place.getByText('The answer of a dry run').count()).toBe(0);
    await place.locator('.opblock-summary-control').click();
    const read = await openOperation('getOrder');
    expect(await read.getByRole('button', { name: 'Dry run' }).count()).toBe(0);
    await read.locator('.opblock-summary-control').click();
  });

  it('show the response of a request as its own, also where another one is asked for before it comes', async () => {
    const page = await atDesk();
    const block = await openOperation('reserveAssetNums');
    await execute(block);
    const arrival = Promise.withResolvers<undefined>();
    await page.route('**/asset-num-reservations', async (route) => {
      await arrival.promise;
      await route.continue();
    });
    await block.getByRole('button', { name: 'Execute' }).click();
    await block.getByRole('button', { name: 'Clear' }).click();
    await block.getByRole('button', { name: 'Dry run' }).click();
    arrival.resolve(undefined);
    await block.locator('.live-responses-table').waitFor();
    expect(await block.locator('.live-responses-table .response-col_status').last().innerText()).toBe('201');
    expect(await block.locator('.answer').innerText()).not.toContain('dry run');
    await page.unroute('**/asset-num-reservations');
    await execute(block, 'Dry run');
    await block.getByText('The answer of a dry run').waitFor();
    await block.locator('.opblock-summary-control').click();
  });

  it('say that the gateway does not answer, and can be executed again', async () => {
    const page = await atDesk();
    const block = await openOperation('getJob');
    await page.evaluate('window.kept = fetch; window.fetch = () => Promise.reject(new TypeError("away"))');
    await block.getByRole('button', { name: 'Execute' }).click();
    await block.locator('.live-responses-table', { hasText: 'away' }).waitFor();
    await page.evaluate('window.fetch = kept');
    expect((await execute(block)).status).toBe('200');
    await block.locator('.opblock-summary-control').click();
  });

  it('show the fields of a body beside it, and their answer where the reader looks', async () => {
    await atDesk();
    const place = await openOperation('placeOrder');
    const [fields, body] = [
      place.getByRole('region', { name: 'Fields of placeOrder' }),
      place.locator('textarea'),
    ];
    expect(await fields.innerText()).toMatch(/channelOrderId string, 1 to 255 required\s+The order's number/);
    expect(await fields.innerText()).toContain('Only for delete_asset, delete_product.');
    const [left, right] = [await body.boundingBox(), await fields.boundingBox()];
    expect(right?.x).toBeGreaterThanOrEqual((left?.x ?? 0) + (left?.width ?? 0));
    await place.locator('.examples-select select').first().selectOption('newBuyPackage');
    expect((await execute(place)).status).toBe('201');
    await expectInView(place.locator('.live-responses-table .response-col_status').last());
    await place.locator('.opblock-summary-control').click();
  });

  it('have schemas without escapes, and are shown as code that works as it stands', async () => {
    const page = await atDesk();
    const place = await openOperation('placeOrder');
    await place.locator('.opblock-section-request-body').getByText('Schema', { exact: true }).click();
    const schema = place.locator('.opblock-section-request-body');
    await schema.getByText('PlaceOrder').first().waitFor();
    expect(await schema.innerText()).not.toContain('\\u');
    await place.locator('.opblock-summary-control').click();
    expect(await page.locator('.info').innerText()).toContain(
      'A string of the format id has no control or invisible characters',
    );
    for (const [fold, word] of [
      ['Words', 'lent lock'],
      ['Problems of any operation', 'too-many-requests'],
    ] as const) {
      expect(await page.locator('.info').innerText()).not.toContain(word);
      await page.getByText(fold, { exact: true }).click();
      await page.locator('.info').getByText(word, { exact: true }).waitFor();
      await page.getByText(fold, { exact: true }).click();
    }

    const run = promisify(execFile);
    const environment = { env: { ...process.env, KEY: key() } };
    await visit.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    for (const [id, expected] of [
      ['reserveAssetNums', /requested/],
      ['listLentLocks', /totalPages/],
      // Its response is a file.
      ['exportMembers', /userName/],
      ['listEvents', /next/],
    ] as const) {
      const block = await openOperation(id);
      const code = block.locator('.samples pre');
      if (id === 'listEvents')
        await block.getByLabel('type', { exact: true }).selectOption(['job.failed', 'job.succeeded']);
      await code.getByText('$KEY').waitFor();
      expect((await run('bash', ['-c', await code.innerText()], environment)).stdout).toMatch(expected);
      await block.getByRole('button', { name: 'TypeScript' }).click();
      await code.getByText("process.env['KEY']").waitFor();
      const script = await code.innerText();
      const copy = block.locator('.languages button').last();
      await copy.click();
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(script);
      expect(await copy.innerText()).toBe('Copied');
      const flags = ['--input-type=module-typescript', '--no-warnings', '-e', script];
      expect((await run(process.execPath, flags, environment)).stdout).toMatch(expected);
      await block.getByRole('button', { name: 'Python' }).click();
      await code.getByText("os.environ['KEY']").waitFor();
      expect((await run('python3', ['-c', await code.innerText()], environment)).stdout).toMatch(expected);
    }
  });
});

it('the code in each language sends a body byte for byte', async () => {
  const samples = new URL('../../src/documentation/api-page/samples.js', import.meta.url);
  const languages = (await import(samples.href)) as Record<string, (request: object) => string>;
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    void textOf(request).then((body) => {
      bodies.push(body);
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const body =
      '{\n  "a": 12345678901234567.0,\r\n  "b": "\\/\\u00e9 \'\'\'` ${1} $& \\\\",\n  "c": [true, null, 1e400]\n}';
    const headers = { 'Content-Type': 'application/json' };
    const request = { method: 'POST', url: `http://127.0.0.1:${port}/`, headers, body };
    const run = promisify(execFile);
    const environment = { env: { ...process.env, KEY: 'k' } };
    const flags = ['--input-type=module-typescript', '--no-warnings', '-e'];
    await run('bash', ['-c', languages['curl']?.(request) ?? ''], environment);
    await run(process.execPath, [...flags, languages['typeScript']?.(request) ?? ''], environment);
    await run('python3', ['-c', languages['python']?.(request) ?? ''], environment);
    expect(bodies).toEqual([body, body, body]);
  } finally {
    server.close();
  }
});

describe('nothing hinders a reader, and nothing scrolls sideways', () => {
  it('of the page, in light colours on a desk and in dark ones on a phone', async () => {
    const page = await atDesk();
    const block = await openOperation('updateCustomer');
    await block.locator('.opblock-section-request-body').getByText('Schema', { exact: true }).click();
    await execute(block, 'Dry run');
    for (const [colorScheme, viewport] of [
      ['light', DESKTOP],
      ['dark', PHONE],
    ] as const) {
      const fits = async (within: Parameters<typeof findings>[1]) => {
        const width = await page.evaluate('document.documentElement.scrollWidth');
        expect({ colorScheme, width, found: await findings(page, within) }).toEqual({
          colorScheme,
          width: viewport.width,
          found: [],
        });
      };
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(viewport);
      const background = await page.evaluate('getComputedStyle(document.body).backgroundColor');
      expect(background === 'rgb(255, 255, 255)').toBe(colorScheme === 'light');
      // Closed operations are all alike: the first of each group stands for them.
      await fits({ exclude: ['span:not(:first-child) > .opblock:not(.is-open)'] });
      await page.locator('#find').fill('lock');
      await page.getByRole('option').first().waitFor();
      await fits('.bar');
      await page.locator('#find').fill('');
      await page.locator('#authorize').click();
      await fits('#dialog');
      await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    }
  });

  it('of the pages of problems and the changelog', async () => {
    for (const path of ['/problems', '/problems/outcome-unknown', '/docs/changelog', '/docs/recipes']) {
      await visit.open(gateway.url + path);
      const found = await findings(visit.page);
      await visit.page.setViewportSize(PHONE);
      const width = await visit.page.evaluate('document.documentElement.scrollWidth');
      expect({ path, width, found }).toEqual({ path, width: PHONE.width, found: [] });
    }
  });
});

/* The last tests of the file: they leave orders whose records the gateway keeps, while each test begins with a platform that has none. */
describe.each([
  ['first', 'forward'],
  ['second', 'backward'],
] as const)('O16 Execute, pressed again and again on a %s load of the page', (_, order) => {
  const own = async () =>
    (await gateway.get('/v1/webhooks', { key: key() })).body['items'] as Record<string, unknown>[];
  let isOpen = false;

  it.each(order === 'forward' ? TAGS : TAGS.toReversed())(
    'works each time: %s',
    async (tag) => {
      const before = await own();
      if (!isOpen) await openFolded();
      isOpen = true;
      const ofTag = listed.filter(({ operation: { tags } }) => tags?.[0] === tag);
      const wanted = ofTag.map(({ operation: { operationId, 'x-dry-run': dryRun } }) => [
        operationId,
        dryRun === undefined ? ['works'] : ['works', 'works'],
      ]);
      expect(await pressAll(tag, order)).toEqual(Object.fromEntries(wanted));
      // What `createWebhook` itself makes stays; a repeat gets the same.
      const isOwn = ({ description }: Record<string, unknown>) => description === 'operations';
      expect((await own()).filter((webhook) => !isOwn(webhook))).toEqual(
        before.filter((webhook) => !isOwn(webhook)),
      );
      expect((await own()).filter(isOwn).length).toBeLessThanOrEqual(1);
      expect(await gateway.metrics()).toMatch(/^gateway_webhooks{state="failing"} 0$/m);
    },
    PATIENCE_MS,
  );
});
