import { isIP } from 'node:net';

/** An entry of `WEBHOOK_HOSTS`: hosts by name, or addresses by range, with one port or any. */
export interface ListedHost {
  /** A host name in lower case; with a dot in front, the end of host names. */
  readonly name?: string;
  readonly range?: { readonly address: string; readonly prefix: number; readonly family: 'ipv4' | 'ipv6' };
  readonly port: number | undefined;
}

const NAME = /^\.?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/;
/** The parts of an entry. An IPv6 address is in brackets where a port follows. */
const PARTS = /^(?:\[([^\]]+)\]|([^:]+)|([0-9a-f:.]+(?:\/\d+)?))(?::(\d{1,5}))?$/;

/** Reads the list. Returns undefined where an entry is invalid. */
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

/** Refuses a name whose last part is a number, because URLs read it as an address. */
function isName(text: string): boolean {
  return text.length <= 253 && NAME.test(text) && !/(^|\.)(\d+|0x[0-9a-f]*)$/.test(text);
}
