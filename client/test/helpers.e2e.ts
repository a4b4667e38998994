import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { orderOf } from '../../test/support/order-body.ts';
import { freePort } from '../../test/support/redis.ts';
import { isProblem, Licensing } from '../src/licensing.ts';
import { LicensingHealthIndicator, LicensingModule } from '../src/nestjs.ts';
import { fakeLicensing } from '../src/fake-licensing.ts';
import { type Gateway, startGateway, startSandbox } from '../src/testing.ts';
import { failure } from './support/failure.ts';
import { ScriptedGateway } from './support/scripted-gateway.ts';

const HARBOUR = { enterpriseGlobalId: 'ent-harbour' };

describe('a gateway for the tests of callers (needs the build)', () => {
  let gateway: Gateway;
  beforeAll(async () => {
    const faults = [{ operation: 'listMembers', action: { code: '60002' } }];
    gateway = await startGateway({ seed: 7, faults, caller: { channels: ['crm'] }, client: { attempts: 1 } });
  });
  afterAll(() => gateway.stop());

  it('comes with a client, a caller with the given rights, and the faults of the start', async () => {
    const { name, channels, scopes } = await gateway.licensing.callers.me();
    expect({ name, channels }).toEqual({ name: 'test', channels: ['crm'] });
    expect(scopes).toContain('orders:settle');
    expect(await (await fetch(`${gateway.managementUrl}/metrics`)).text()).toContain('gateway_build_info{');
    expect(isProblem(await failure(gateway.licensing.members.list(HARBOUR)), 'member-not-found')).toBe(true);
  });

  it('is back at its start after a reset', async () => {
    const { url, sandbox, licensing } = gateway;
    await sandbox.control('DELETE', '/faults');
    await sandbox.control('PATCH', '/state/assets/ast-1001', { freezing: true });
    await sandbox.fault({ operation: 'listAssets', action: { code: '13004' } });
    expect(isProblem(await failure(licensing.assets.list(HARBOUR)), 'upstream-rejected')).toBe(true);
    await gateway.reset();
    expect((await licensing.assets.get({ ...HARBOUR, assetId: 'ast-1001' })).frozen).toBe(false);
    expect(isProblem(await failure(licensing.members.list(HARBOUR)), 'member-not-found')).toBe(true);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  it('G25 has the time of the platform: an order in doubt is settled as not placed at once, in each test', async () => {
    const { licensing, sandbox } = gateway;
    for (const channelOrderId of ['SO-G25-1', 'SO-G25-2']) {
      const place = () => failure(licensing.orders.place(orderOf(channelOrderId) as never));
      await sandbox.fault({ operation: 'batchOrder', times: 1, action: { reset: 'before-headers' } });
      expect(isProblem(await place(), 'outcome-unknown')).toBe(true);
      const settlement = {
        channelCode: 'crm',
        channelOrderId,
        as: 'not_placed',
        reason: 'not listed',
      } as const;
      expect(isProblem(await failure(licensing.orders.settle(settlement)), 'order-not-settleable')).toBe(
        true,
      );
      await sandbox.advance(20 * 60_000);
      expect((await licensing.orders.settle(settlement)).state).toBe('not_placed');
      // The time of the gateway's records does not go back, and passes again.
      await gateway.reset();
    }
  });

  it('has a sandbox alone, with data of its own, or the sentence that says what is wrong with it', async () => {
    await using sandbox = await startSandbox({
      seed: 7,
      state: { enterprises: [{ globalId: 'ent-own', enterpriseId: '1', name: 'Own' }] },
    });
    expect(await sandbox.control('GET', '/state')).toMatchObject({ enterprises: [{ globalId: 'ent-own' }] });
    await expect(startSandbox({ profile: '/nowhere' })).rejects.toThrow(
      '@licensing-gateway/sandbox: --profile /nowhere cannot be read (ENOENT).',
    );
    await expect(startSandbox({ node: '/nowhere' })).rejects.toThrow(
      'it did not start (spawn /nowhere ENOENT)',
    );
    await expect(startSandbox({ state: { assets: [{}] } })).rejects.toThrow('/assets/0/id is required.');
  });

  it('shows why a gateway did not start, and leaves nothing running', async () => {
    const failed = await failure(startGateway({ environment: { PORT: 'none' } }));
    expect(failed).toMatchObject({ message: expect.stringContaining('PORT') });
  });
});

describe('a fake client for unit tests', () => {
  it('answers what is faked, and names what is not', async () => {
    const licensing = fakeLicensing({
      assets: { get: ({ assetId }) => Promise.resolve({ assetId } as never) },
      members: {
        each: async function* () {
          yield { memberGlobalId: 'm-1' } as never;
        },
      },
    });
    expect(await licensing.assets.get({ ...HARBOUR, assetId: 'a-1' })).toEqual({ assetId: 'a-1' });
    for await (const { memberGlobalId } of licensing.members.each(HARBOUR))
      expect(memberGlobalId).toBe('m-1');
    const notFaked = (name: string) => `${name} is not faked: give it to fakeLicensing`;
    for (const [name, call] of [
      ['assets.list', () => licensing.assets.list(HARBOUR)],
      ['members.get', () => licensing.as('anna').members.get({ ...HARBOUR, memberGlobalId: 'm-1' })],
      ['assets.each', () => licensing.assets.each(HARBOUR).next()],
      ['events.each', () => licensing.events.each().next()],
      ['members.import', () => licensing.members.import(HARBOUR, '')],
      ['orders.place', () => licensing.orders.placeAndWait(orderOf('faked-1') as never)],
    ] as const)
      expect(await failure(call())).toMatchObject({ name: 'Error', message: notFaked(name) });
    expect(() => licensing.jobs.follow('job-1')).toThrow(notFaked('jobs.follow'));
    expect(await licensing.as('anna').assets.get({ ...HARBOUR, assetId: 'a-2' })).toEqual({ assetId: 'a-2' });
  });
});

describe('the module for NestJS', () => {
  it('gives every module the client, made of injected settings, and a health indicator that never rejects', async () => {
    const port = await freePort();
    @Injectable()
    class Settings {
      readonly baseUrl = `http://127.0.0.1:${port}`;
    }
    @Module({ providers: [Settings], exports: [Settings] })
    class SettingsModule {}
    @Module({
      imports: [
        LicensingModule.forRootAsync({
          imports: [SettingsModule],
          inject: [Settings],
          useFactory: ({ baseUrl }: Settings) => ({ baseUrl, apiKey: 'k', attempts: 1 }),
        }),
      ],
    })
    class AppModule {}
    const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
    expect(app.get(Licensing)).toBeInstanceOf(Licensing);
    const asked = () => app.get(LicensingHealthIndicator).isHealthy('licensing');
    expect(await asked()).toEqual({
      licensing: { status: 'down', detail: expect.stringContaining('No connection to the gateway') },
    });
    // A gateway that lacks a part admits requests: readiness by this indicator must not end every replica of a service.
    const gateway = await ScriptedGateway.start(port);
    const ready = (httpStatus: number, status: string) =>
      gateway.play({ status: httpStatus, body: { status } });
    ready(200, 'ok');
    expect(await asked()).toEqual({ licensing: { status: 'up' } });
    ready(200, 'degraded');
    expect(await asked()).toEqual({ licensing: { status: 'up', detail: 'degraded' } });
    ready(503, 'down');
    expect(await asked()).toEqual({ licensing: { status: 'down', detail: 'down' } });
    // Proxies answer 503 with JSON of their own while no gateway listens.
    const isNoGateway = expect.stringContaining('An answer (503) of 127.0.0.1');
    for (const [body, detail] of [
      [{ error: 'no healthy upstream' }, isNoGateway],
      [{ title: 'Service Unavailable', status: 503 }, isNoGateway],
      [{ status: 'unavailable' }, 'unavailable'],
    ] as const) {
      gateway.play({ status: 503, body });
      expect(await asked()).toEqual({ licensing: { status: 'down', detail } });
    }
    await gateway.close();
    await app.close();
  });
});
