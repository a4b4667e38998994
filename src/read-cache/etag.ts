import { hash } from 'node:crypto';

/** 22 characters of base64url are 132 bits, so collisions by chance do not occur. */
const LENGTH = 22;

/** A strong entity tag (RFC 9110 8.8.3) of the content only, so that tokens, replicas and restarts do not change it. */
export function etagOf(body: string | Buffer): string {
  return `"${hash('sha256', body, 'base64url').slice(0, LENGTH)}"`;
}

/** Whether `If-None-Match` (RFC 9110 13.1.2) names this content: a list, `*`, compared weakly. */
export function isNamed(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  // Tags may hold commas, so a list is not split at them.
  return ifNoneMatch.matchAll(/"[^"]*"/g).some(([named]) => named === etag);
}

/** Whether a request's `Cache-Control` (RFC 9111 5.2.1) asks to bypass the cache. */
export function asksForFresh(cacheControl: string | undefined): boolean {
  return (cacheControl ?? '').split(',').some((directive) => directive.trim().toLowerCase() === 'no-cache');
}
