import { hash, type X509Certificate } from 'node:crypto';

/**
 * The names of a certificate by which an entry of the callers file may identify it: `sha256:` of its DER, a URI of its SAN unchanged, or a
 * DNS name after `DNS:`.
 */

/** The form of a DNS name. It excludes wildcards, which would not identify a single caller. */
const DNS = /^DNS:(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/;
const SHA256 = /^sha256:[0-9a-f]{64}$/;
/** The form of a URI (RFC 3986), with an authority or as a URN, so that neither `dns:name` nor `SHA256:…` matches. */
const URI = /^([a-z][a-z0-9+.-]*:\/\/|urn:)[!#-+\--~]{1,2048}$/;

export const CERTIFICATE_NAME_FORMS =
  'must be a URI of the certificate (scheme://…), DNS: and a host name in lower case, or sha256: and the SHA-256 of its DER in hex, in lower case';

export function isCertificateName(text: string): boolean {
  return DNS.test(text) || SHA256.test(text) || URI.test(text);
}

/** One name of a SAN as Node writes it. Node quotes a value with a comma, a quote or a control character. */
const ALTERNATIVE = /([A-Za-z ]+):(?:"(?:[^"\\]|\\.)*"|([^",]*))(?:, |$)/y;

export function certificateNames({ raw, subjectAltName = '' }: X509Certificate): string[] {
  return [`sha256:${hash('sha256', raw, 'hex')}`, ...alternativeNames(subjectAltName)];
}

/** Returns no names if the text has another form, because a name must never be made of a part of another one. */
function alternativeNames(text: string): string[] {
  const names: string[] = [];
  let at = 0;
  while (at < text.length) {
    ALTERNATIVE.lastIndex = at;
    const [whole, kind, value] = ALTERNATIVE.exec(text) ?? [];
    if (!whole) return [];
    at += whole.length;
    // The value was quoted, and no entry may have such a name.
    if (value === undefined) continue;
    if (kind === 'URI') names.push(value);
    if (kind === 'DNS') names.push(`DNS:${value.toLowerCase()}`);
  }
  return names;
}
