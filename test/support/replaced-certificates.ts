import { renameSync, writeFileSync } from 'node:fs';
import { expect } from '@jest/globals';
import { type Authority, type Identity, LOOPBACK } from './certificates.ts';
import type { TestGateway } from './gateway.ts';
import { fingerprintOf, shownBy, TlsClient } from './tls-client.ts';

/** The files of a certificate and its key, as an operator replaces them. */
export class IdentityFiles {
  constructor(
    readonly cert: string,
    readonly key: string,
  ) {}

  /** Each file at once, as a mounted secret is replaced. */
  put({ cert, key }: Identity): void {
    for (const [path, pem] of [
      [this.cert, cert],
      [this.key, key],
    ] as const) {
      writeFileSync(`${path}.new`, pem);
      renameSync(`${path}.new`, path);
    }
  }
}

/** Puts another certificate there and waits until the gateway has taken it. */
export async function replace(gateway: TestGateway, files: IdentityFiles, identity: Identity): Promise<void> {
  const told = gateway.logged('certificates-reloaded');
  files.put(identity);
  await told;
}

/**
 * Sends so many requests, half of them on connections that stay open and half on new ones, while the certificate of the gateway's public
 * listener is replaced so many times. Every request must succeed, and every new certificate be shown to new connections.
 */
export async function expectServedWhileReplaced(
  gateway: TestGateway,
  {
    authority,
    files,
    requests,
    times,
  }: { authority: Authority; files: IdentityFiles; requests: number; times: number },
): Promise<void> {
  const trust = { ca: authority.pem };
  const url = `${gateway.url}/v1/callers/me`;
  const headers = { 'x-api-key': gateway.key };
  const kept = new TlsClient(trust, 4);
  const outcomes: unknown[] = [];
  const replaced = new AbortController();
  const send = async (onNew: boolean): Promise<void> => {
    const client = onNew ? new TlsClient(trust) : kept;
    outcomes.push(await client.get(url, headers).then(({ status }) => status, String));
    if (onNew) await client.stop();
  };
  const sendAll = async (): Promise<void> => {
    // The requests go on until the last certificate is there, so that each one is replaced under load.
    for (let sent = 0; sent < requests / 8 || !replaced.signal.aborted; sent++) await send(sent % 2 === 0);
  };
  const replaceAll = async (): Promise<void> => {
    try {
      for (let time = 0; time < times; time++) {
        const identity = await authority.issue(LOOPBACK);
        await replace(gateway, files, identity);
        expect(await shownBy(gateway.url, trust)).toBe(fingerprintOf(identity));
      }
    } finally {
      replaced.abort();
    }
  };
  await Promise.all([replaceAll(), ...Array.from({ length: 8 }, sendAll)]);
  await kept.stop();
  expect(outcomes.length).toBeGreaterThanOrEqual(requests);
  expect(outcomes.filter((each) => each !== 200)).toEqual([]);
}
