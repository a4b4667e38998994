import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, it } from '@jest/globals';
import { LOOPBACK, makeAuthority } from '../support/certificates.ts';
import { endings } from '../support/endings.ts';
import { TestGateway } from '../support/gateway.ts';
import { IdentityFiles, expectServedWhileReplaced } from '../support/replaced-certificates.ts';
import { useSandbox } from '../support/stack.ts';

const sandbox = useSandbox();
const { ended } = endings();
const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
const trusted = getCACertificates('default');
afterAll(() => {
  setDefaultCACertificates(trusted);
  rmSync(folder, { recursive: true, force: true });
});

it('O4 the certificate of the public listener is replaced 10 times under 10,000 requests: none fails', async () => {
  const authority = await makeAuthority('Servers');
  const files = new IdentityFiles(join(folder, 'cert.pem'), join(folder, 'key.pem'));
  files.put(await authority.issue(LOOPBACK));
  setDefaultCACertificates([authority.pem]);
  const environment = { TLS_CERT_FILE: files.cert, TLS_KEY_FILE: files.key };
  const gateway = ended(await TestGateway.start(sandbox, environment));
  await expectServedWhileReplaced(gateway, { authority, files, requests: 10_000, times: 10 });
});
