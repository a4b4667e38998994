import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Issuer } from '../../test/support/issuer.ts';
import { RecordedLog, settings } from '../../test/support/settings.ts';
import { CallerRegistry } from './caller.registry.ts';
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
  registry = new CallerRegistry({ file }, recorded.files);
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
