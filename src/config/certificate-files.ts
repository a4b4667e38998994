import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Values, VariableName } from './variables.ts';

/** The certificates of one side of TLS, in PEM. */
export interface Certificates {
  /** The certificates of the trusted authorities; absent: those that Node trusts. */
  readonly ca?: string;
  /** The certificate that this side shows, perhaps with those between it and its authority. */
  readonly cert?: string;
  readonly key?: string;
}
type Part = keyof Certificates;

/** A block of PEM (RFC 7468, section 2). */
const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[^-]*-----END \1-----/g;

export type CertificateVariables = { readonly [P in Part]: VariableName & `${string}_FILE` };

export interface CertificateFile {
  readonly variable: VariableName;
  readonly path: string;
}
export type CertificateFiles = { readonly [P in Part]?: CertificateFile };

/** The function that reads each file, and returns what it has. It throws where the file has other content. */
const READERS: Readonly<Record<Part, (pem: string) => string>> = {
  ca: onlyCertificates,
  cert: onlyCertificates,
  key: (pem) => {
    createPrivateKey(pem);
    return pem;
  },
};
const PARTS = Object.keys(READERS) as Part[];

/** The files whose variables are set. */
export function certificateFiles(values: Values, variables: CertificateVariables): CertificateFiles {
  const files: { [P in Part]?: CertificateFile } = {};
  for (const part of PARTS) {
    const variable = variables[part];
    const path = values[variable];
    if (typeof path === 'string') files[part] = { variable, path };
  }
  return files;
}

/** Adds to `faults` what is wrong with the files, by the variable's name and without any of their content. */
export function readCertificates(
  files: CertificateFiles,
  variables: CertificateVariables,
  faults: string[],
): Certificates {
  const found: { [P in Part]?: string } = {};
  for (const part of PARTS) {
    const { variable, path } = files[part] ?? {};
    if (path === undefined) continue;
    try {
      found[part] = READERS[part](readFileSync(path, 'utf8'));
    } catch {
      const what = part === 'key' ? 'private key in PEM, without a passphrase' : 'certificate in PEM';
      faults.push(`${variable} must be the path of a readable ${what}`);
      return {};
    }
  }
  const { cert, key } = variables;
  if ((found.cert === undefined) !== (found.key === undefined))
    faults.push(`${cert} and ${key} must be set together`);
  else if (found.cert && found.key && !fits(found.cert, found.key))
    faults.push(`${key} must be the private key of ${cert}`);
  else if (!isUsable(found))
    faults.push(`${cert} and ${key} must have a kind and a length that OpenSSL allows`);
  return found;
}

function fits(cert: string, key: string): boolean {
  return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
}

/** Whether connections can be made with these certificates. OpenSSL refuses keys that are too short, for example. */
function isUsable(certificates: Certificates): boolean {
  try {
    secureContextOf(certificates);
    return true;
  } catch {
    return false;
  }
}

export function secureContextOf(certificates: Certificates): SecureContext {
  return createSecureContext(certificates);
}

/** OpenSSL stops reading where a certificate does not begin on a line of its own, so it gets them written anew. */
function onlyCertificates(pem: string): string {
  return certificatesIn(pem).map(String).join('');
}

/** All certificates of a file. Throws where a block is cut off. */
export function certificatesIn(pem: string): X509Certificate[] {
  const isCut = pem.replace(BLOCK, '').includes('-----');
  const blocks = [...pem.matchAll(BLOCK)].filter(([, label]) => label === 'CERTIFICATE');
  if (isCut || blocks.length === 0) throw new Error('is not only whole certificates');
  return blocks.map(([block]) => new X509Certificate(block));
}
