import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type JsonGeneralNames,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** What one side of TLS shows, in PEM. */
export interface Identity {
  readonly key: string;
  readonly cert: string;
}

export interface TestCertificates {
  /** The authority that signed all but `untrusted`, in PEM: a client must trust it. */
  readonly ca: string;
  /** A certificate for 127.0.0.1, ::1 and localhost. */
  readonly good: Identity;
  /** The same, but expired yesterday. */
  readonly expired: Identity;
  /** Valid now, for another host. */
  readonly wrongName: Identity;
  /** Correct except for its authority, which no client knows. */
  readonly untrusted: Identity;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const CURVE = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const SIGNING = { name: 'ECDSA', hash: 'SHA-256' } as const;
export const LOOPBACK: JsonGeneralNames = [
  { type: 'ip', value: '127.0.0.1' },
  { type: 'ip', value: '::1' },
  { type: 'dns', value: 'localhost' },
];

/** Certificates for this run only, so that none is in the repository and expires. */
export async function makeCertificates(): Promise<TestCertificates> {
  const [authority, stranger] = await Promise.all([makeAuthority('Test'), makeAuthority('Unknown')]);
  const [good, expired, wrongName, untrusted] = await Promise.all([
    authority.issue(LOOPBACK),
    authority.issue(LOOPBACK, { from: -10 * DAY_MS, to: -DAY_MS }),
    authority.issue([{ type: 'dns', value: 'elsewhere.invalid' }]),
    stranger.issue(LOOPBACK),
  ]);
  return { ca: authority.pem, good, expired, wrongName, untrusted };
}

interface Validity {
  /** ms from now. */
  readonly from: number;
  readonly to: number;
}

export type Authority = Awaited<ReturnType<typeof makeAuthority>>;

/** `above` signs its certificate; without it, it signs its own. */
export async function makeAuthority(name: string, above?: Signer) {
  const keys = await generateKeys();
  const subject = `CN=${name} authority`;
  const certificate = await X509CertificateGenerator.create({
    subject,
    issuer: above?.subject ?? subject,
    serialNumber: serialNumber(),
    notBefore: new Date(Date.now() - 30 * DAY_MS),
    notAfter: new Date(Date.now() + DAY_MS),
    publicKey: keys.publicKey,
    signingKey: above?.key ?? keys.privateKey,
    signingAlgorithm: SIGNING,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ],
  });
  return {
    pem: certificate.toString('pem'),
    signer: { subject: certificate.subject, key: keys.privateKey },
    async issue(
      names: JsonGeneralNames,
      { from, to }: Validity = { from: -DAY_MS, to: DAY_MS },
    ): Promise<Identity> {
      const own = await generateKeys();
      const issued = await X509CertificateGenerator.create({
        subject: 'CN=server',
        issuer: certificate.subject,
        serialNumber: serialNumber(),
        notBefore: new Date(Date.now() + from),
        notAfter: new Date(Date.now() + to),
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: SIGNING,
        extensions: [
          new BasicConstraintsExtension(false, undefined, true),
          new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
          // The certificate is for clients too, because servers of a cluster are clients of each other.
          new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
          new SubjectAlternativeNameExtension(names),
        ],
      });
      const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', own.privateKey);
      return { key: PemConverter.encode(pkcs8, 'PRIVATE KEY'), cert: issued.toString('pem') };
    },
  };
}

interface Signer {
  readonly subject: string;
  readonly key: webcrypto.CryptoKey;
}

function generateKeys() {
  return webcrypto.subtle.generateKey(CURVE, true, ['sign', 'verify']);
}

/** Positive: a set first bit would make it negative in DER. */
function serialNumber(): string {
  return `01${randomBytes(15).toString('hex')}`;
}
