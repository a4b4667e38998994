import { isIP } from 'node:net';

/** A place of `WEBHOOK_HOSTS`, at one port or at any: hosts by name, or addresses by range. */
export interface ListedHost {
  /** A host name in lower case; with a dot in front the end of names. */
  readonly name?: string;
  readonly range?: { readonly address: string; readonly prefix: number; readonly family: 'ipv4' | 'ipv6' };
  readonly port: number | undefined;
}

const NAME = /^\.?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/;
/** In brackets where an IPv6 address has a port after it. */
const PARTS = /^(?:\[([^\]]+)\]|([^:]+)|([0-9a-f:.]+(?:\/\d+)?))(?::(\d{1,5}))?$/;

/** Reads the list. Undefined where an entry is none. */
export function parseListedHosts(text: string): readonly ListedHost[] | undefined {
  const hosts = text.split(',').map((entry) => listedHost(entry.trim().toLowerCase()));
  return hosts.every((host) => host !== undefined) ? hosts : undefined;
}

function listedHost(entry: string): ListedHost | undefined {
  const bare = isIP(entry.replace(/\/\d+$/, '')) === 6 ? entry : undefined;
  const [, bracketed, plain, , digits] = (bare === undefined && PARTS.exec(entry)) || [];
  const host = bare ?? bracketed ?? plain;
  const port = digits === undefined ? undefined : Number(digits);
  if (host === undefined || port === 0 || (port ?? 1) > 65_535) return undefined;
  const [address = '', length, ...more] = host.split('/');
  if (more.length > 0) return undefined;
  const version = isIP(address);
  if (version === 0) return length === undefined && isName(host) ? { name: host, port } : undefined;
  const bits = version === 4 ? 32 : 128;
  if (length !== undefined && (!/^\d{1,3}$/.test(length) || Number(length) > bits)) return undefined;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  return { range: { address, prefix: Number(length ?? bits), family }, port };
}

/** A name whose last part is a number is an address in a form that URLs turn into another. */
function isName(text: string): boolean {
  return text.length <= 253 && NAME.test(text) && !/(^|\.)(\d+|0x[0-9a-f]*)$/.test(text);
}
