import { hash, type X509Certificate } from 'node:crypto';

/**
 * The names of a certificate by which an entry of the callers file may name it: `sha256:` of its DER, a URI of its SAN as it is, `DNS:`
 * before a name.
 */

/** A wildcard would name no single caller. */
const DNS = /^DNS:(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/;
const SHA256 = /^sha256:[0-9a-f]{64}$/;
/** RFC 3986, with an authority or as a URN, so that neither `dns:name` nor `SHA256:…` is one. */
const URI = /^([a-z][a-z0-9+.-]*:\/\/|urn:)[!#-+\--~]{1,2048}$/;

export const CERTIFICATE_NAME_FORMS =
  'must be a URI of the certificate (scheme://…), DNS: and a host name in lower case, or sha256: and the SHA-256 of its DER in hex, in lower case';

export function isCertificateName(text: string): boolean {
  return DNS.test(text) || SHA256.test(text) || URI.test(text);
}

/** One name of a SAN as Node writes it: a value with a comma, a quote or a control character is in quotes. */
const ALTERNATIVE = /([A-Za-z ]+):(?:"(?:[^"\\]|\\.)*"|([^",]*))(?:, |$)/y;

export function certificateNames({ raw, subjectAltName = '' }: X509Certificate): string[] {
  return [`sha256:${hash('sha256', raw, 'hex')}`, ...alternativeNames(subjectAltName)];
}

/** None where the text has another form: a name must never be made of a part of another one. */
function alternativeNames(text: string): string[] {
  const names: string[] = [];
  let at = 0;
  while (at < text.length) {
    ALTERNATIVE.lastIndex = at;
    const [whole, kind, value] = ALTERNATIVE.exec(text) ?? [];
    if (!whole) return [];
    at += whole.length;
    // In quotes: no entry may have such a name.
    if (value === undefined) continue;
    if (kind === 'URI') names.push(value);
    if (kind === 'DNS') names.push(`DNS:${value.toLowerCase()}`);
  }
  return names;
}
