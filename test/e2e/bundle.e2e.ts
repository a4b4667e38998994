import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Fleet } from '../support/fleet.ts';
import { orderOf } from '../support/order-body.ts';
import { TestSandbox } from '../support/sandbox.ts';

const MIB = 1024 * 1024;

interface Document {
  readonly components: { readonly schemas: object };
}

/** What `npm start` and the image run: one file, with a map to the sources. */
describe('the bundled gateway', () => {
  let sandbox: TestSandbox;
  let fleet: Fleet;

  beforeAll(async () => {
    sandbox = await TestSandbox.start();
    fleet = await Fleet.start(sandbox, 1, { how: { bundled: true }, environment: { DOCS: 'on' } });
  });
  afterAll(async () => {
    await fleet.stop();
    await sandbox.close();
  });

  it('is what `npm start` and the image run', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: { start: string } };
    expect(scripts.start).toBe(
      'exec node --enable-source-maps --max-semi-space-size=16 dist/bundle/gateway.js',
    );
    expect(readFileSync('Dockerfile', 'utf8')).toContain(
      'CMD ["node", "--enable-source-maps", "--max-semi-space-size=16", "dist/bundle/gateway.js"]',
    );
  });

  it('reads, orders, and shows its document and its page', async () => {
    const read = await fleet.get(0, '/v1/enterprises/ent-harbour/assets');
    expect(read.status).toBe(200);
    const order = await fleet.post(0, '/v1/license-orders', orderOf('SO-bundle'));
    expect(order.status).toBe(201);
    const url = fleet.gateways[0]?.url;
    const document = (await (await fetch(`${url}/openapi.json`)).json()) as Document;
    const expected = JSON.parse(readFileSync('config/openapi.json', 'utf8')) as Document;
    expect(document.components.schemas).toEqual(expected.components.schemas);
    for (const path of ['/docs', '/docs/swagger-ui-bundle.js', '/docs/page.js']) {
      const response = await fetch(url + path);
      expect([path, response.status]).toEqual([path, 200]);
    }
  });

  it('P18 leaves most of its heap free, since its map has no packages', async () => {
    const metrics = await (await fetch(`${fleet.gateways[0]?.managementUrl}/metrics`)).text();
    const oldMiB =
      Number(/^nodejs_heap_space_size_used_bytes\{space="old"\} (\S+)/m.exec(metrics)?.[1]) / MIB;
    expect(oldMiB).toBeGreaterThan(10);
    expect(oldMiB).toBeLessThan(80);
  });

  it('names the sources in the stack of a failure', async () => {
    const failing = `data:text/javascript,${encodeURIComponent(
      "import { Server } from 'node:net'; Server.prototype.listen = () => { throw new Error('no listener') };",
    )}`;
    const started = Fleet.start(sandbox, 1, { how: { bundled: true, nodeOptions: `--import ${failing}` } });
    await expect(started).rejects.toThrow(/no listener[\s\S]* at .*src\/app\.ts:\d+:\d+/);
  });
});
