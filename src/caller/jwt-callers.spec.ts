import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Maintenance } from '../maintenance/state/maintenance.ts';
import { Issuer } from '../../test/support/issuer.ts';
import { RecordedLog, settings } from '../../test/support/settings.ts';
import { CallerAuthentication } from './caller-authentication.ts';
import { CallerRegistry } from './caller.registry.ts';
import { ClientCertificates } from './client-certificates.ts';
import type { ListenConfig } from '../config/app-config.ts';
import type { Caller } from '../request/caller.ts';
import { Metrics } from '../observability/metrics.ts';
import { JwtCallers } from './jwt-callers.ts';

const CLAIMS = { azp: 'portal', scope: 'orders:read orders:write' };

let issuer: Issuer;
let recorded: RecordedLog;
let registry: CallerRegistry;
let callers: JwtCallers;
let folder: string;
beforeEach(async () => {
  issuer = await Issuer.start();
  recorded = new RecordedLog();
  folder = mkdtempSync(join(tmpdir(), 'jwt-test-'));
  const file = join(folder, 'callers.json');
  writeFileSync(file, JSON.stringify({ callers: [{ name: 'portal', scopes: ['members:read'] }] }));
  registry = new CallerRegistry({ file }, recorded.files, new Maintenance());
  registry.onModuleInit();
  callers = new JwtCallers(settings(issuer.environment).jwt, registry, recorded.log, new Metrics());
});
afterEach(async () => {
  jest.restoreAllMocks();
  recorded.files.onApplicationShutdown();
  await callers.onApplicationShutdown();
  await issuer.close();
  rmSync(folder, { recursive: true });
});

/** Returns the name of the caller, or the fault of the token. */
const whose = async (token: string): Promise<string> => {
  const found = callers.recognised(token) ?? (await callers.verified(token));
  return typeof found === 'string' ? found : found.name;
};

/** Moves the monotonic clock forward by this many minutes. */
function later(minutes: number): void {
  const from = performance.now();
  jest.spyOn(performance, 'now').mockReturnValue(from + minutes * 60_000);
}

describe('a token that was verified', () => {
  it('lets a response that has begun be completed after it has expired, with the present rights of its caller', async () => {
    const certificates = new ClientCertificates(
      { certificates: undefined } as ListenConfig,
      registry,
      recorded.log,
    );
    const authentication = new CallerAuthentication(registry, callers, certificates);
    const request = new IncomingMessage(new Socket());
    request.headers.authorization = `Bearer ${await issuer.token(CLAIMS)}`;
    const begunBy = (await authentication.verified(request)) as Caller;
    const now = () => authentication.grantsNow(request, 'orders:read', begunBy);
    const inADay = Date.now() + 86_400_000;
    jest.spyOn(Date, 'now').mockReturnValue(inADay);
    expect([await authentication.grantsNow(request, 'orders:read'), await now()]).toEqual([
      undefined,
      begunBy.grants,
    ]);
    expect(await authentication.grantsNow(request, 'members:read', begunBy)).toBeUndefined();
    const reloaded = recorded.next('callers-reloaded');
    writeFileSync(join(folder, 'callers.json'), JSON.stringify({ callers: [] }));
    await reloaded;
    expect(await now()).toBeUndefined();
  });

  it('counts no longer once the issuer has withdrawn its key', async () => {
    await issuer.addKey('key-2');
    const [old, other] = [await issuer.token(CLAIMS), await issuer.token(CLAIMS, { kid: 'key-2' })];
    expect(await whose(old)).toBe('portal');
    expect(await whose(other)).toBe('portal');
    issuer.withdrawKey('key-1');
    later(6);
    const renewed = recorded.next('jwks-loaded');
    expect(await whose(old)).toBe('portal');
    await renewed;
    expect(await whose(old)).toBe('signature');
    expect(await whose(other)).toBe('portal');
  });
});
