import dns from 'node:dns';
import { isIP } from 'node:net';

/** Preloaded into a gateway: names of `.changing.example` have these addresses, one after the other, as those of somebody who rebinds them. */
const ADDRESSES: Readonly<Record<string, readonly string[]>> = {
  'metadata.changing.example': ['127.0.0.1', '169.254.169.254'],
  'azure.changing.example': ['168.63.129.16'],
  'translated.changing.example': ['64:ff9b:1::a9fe:a9fe'],
  'private.changing.example': ['10.255.255.254'],
  'one-of-two.changing.example': ['127.0.0.1,10.255.255.254'],
  'mended.changing.example': ['10.255.255.254', '127.0.0.1'],
};
const asked = new Map<string, number>();
const original = dns.lookup;

type Callback = (error: null, found: { address: string; family: number }[]) => void;

dns.lookup = ((host: string, options: object, callback: Callback) => {
  const known = ADDRESSES[host];
  if (!known) return original(host, options as dns.LookupAllOptions, callback as never);
  const times = asked.get(host) ?? 0;
  asked.set(host, times + 1);
  const addresses = known[Math.min(times, known.length - 1)]?.split(',') ?? [];
  return callback(
    null,
    addresses.map((address) => ({ address, family: isIP(address) })),
  );
}) as typeof dns.lookup;
