import { BlockList, isIP, type LookupFunction } from 'node:net';
import { Injectable } from '@nestjs/common';
import { WebhookConfig } from '../../config/app-config.ts';
import { inBackground } from '../../shared/edge.ts';
import { addressesWithin } from './addresses-within.ts';
import { ReceiverNames } from './receiver-names.ts';

export const MAX_URL_LENGTH = 2_048;
/** The time that a receiver has for its answer, from the look-up of its name on. */
export const ANSWER_MS = 10_000;

/** Addresses that are refused whatever is listed: the ones where clouds serve credentials, and link-local ones. */
const NEVER = blockList([
  ['169.254.0.0', 16],
  ['fe80::', 10],
  // Amazon, Oracle and Scaleway.
  ['fd00:ec2::', 32],
  ['fd00:c1::', 32],
  ['fd00:42::42', 128],
  // Google.
  ['fd20:ce::254', 128],
  // Alibaba, Oracle Classic and Azure.
  ['100.100.100.200', 32],
  ['192.0.0.192', 32],
  ['168.63.129.16', 32],
]);

/** Addresses to which a public name must not lead (IANA's registries of special-purpose addresses). */
const NOT_PUBLIC = blockList([
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
  ['::', 96],
  ['64:ff9b::', 32],
  ['100::', 64],
  ['fc00::', 7],
  ['fe80::', 9],
  ['ff00::', 8],
  ['2001::', 32],
  ['2001:db8::', 32],
  ['2002::', 16],
]);

const LOOPBACK = blockList([
  ['127.0.0.0', 8],
  ['::1', 128],
]);

/** The current address of a name may not be called. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

/** Checks the hosts of deliveries against `WEBHOOK_HOSTS`. */
@Injectable()
export class Destinations {
  readonly #names = new ReceiverNames(ANSWER_MS);

  constructor(private readonly config: WebhookConfig) {}

  /** True if no host is listed. */
  get isOff(): boolean {
    return this.config.hosts.length === 0;
  }

  /** Tells the caller why this URL may not be called. Undefined if it may be. The name is not resolved for this check. */
  refusalOf(text: string): string | undefined {
    const url = URL.parse(text);
    if (!url || text.length > MAX_URL_LENGTH || !/^https?:$/.test(url.protocol))
      return `must be an https URL of at most ${MAX_URL_LENGTH} characters`;
    if (url.username !== '' || url.password !== '') return 'must not have a user or a password';
    if (url.hash !== '') return 'must not have a fragment';
    if (url.port === '0') return 'must have a port from 1 to 65535';
    const host = hostOf(url);
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
    const isListed = isIP(host) > 0 ? this.#isListedAddress(host, port) : this.#isListedName(host, port);
    if (!isListed) return 'must be at a host and a port that `WEBHOOK_HOSTS` of this gateway lists';
    if (url.protocol === 'http:' && !this.config.allowInsecure && !isLoopback(host))
      return 'must be https, or at a loopback address';
    return undefined;
  }

  /**
   * Returns a function that resolves the host of a permitted URL for the connection itself, so that the checked address is the connected
   * one. The lookup fails with {@link AddressRefused} if one of the addresses may not be called.
   */
  lookup(port: number): LookupFunction {
    return (host, options, callback) =>
      inBackground('look-up of a receiver', async () => {
        const found = await this.#names.resolve(host, options).catch((error: Error) => error);
        if (found instanceof Error) return callback(found, []);
        const refused = found.find(({ address }) => !this.#mayLeadTo(host, address, port));
        if (refused || found[0] === undefined)
          return callback(new AddressRefused('the host has an address that may not be called'), []);
        return options.all ? callback(null, found) : callback(null, found[0].address, found[0].family);
      });
  }

  #mayLeadTo(host: string, address: string, port: number): boolean {
    if (isNever(address)) return false;
    if (!isIn(NOT_PUBLIC, address) || this.#isListedAddress(address, port)) return true;
    return isLocalName(host) && isIn(LOOPBACK, address);
  }

  #isListedName(host: string, port: number): boolean {
    return this.config.hosts.some(
      ({ name, port: at }) =>
        name !== undefined &&
        (name.startsWith('.') ? host.endsWith(name) : host === name) &&
        (at ?? port) === port,
    );
  }

  #isListedAddress(address: string, port: number): boolean {
    if (isNever(address)) return false;
    return this.config.hosts.some(
      ({ range, port: at }) =>
        range && (at ?? port) === port && isIn(blockList([[range.address, range.prefix]]), address),
    );
  }
}

/** Returns the host in lower case, without the brackets of IPv6 and without the dot that ends a full name. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

function isLoopback(host: string): boolean {
  return isLocalName(host) || (isIP(host) > 0 && isIn(LOOPBACK, host));
}

/** True for the names that RFC 6761, section 6.3, reserves for this host. */
function isLocalName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

function blockList(ranges: readonly (readonly [address: string, prefix: number])[]): BlockList {
  const list = new BlockList();
  for (const [address, prefix] of ranges) list.addSubnet(address, prefix, familyOf(address));
  return list;
}

function isNever(address: string): boolean {
  return [address, ...addressesWithin(address)].some((each) => isIn(NEVER, each));
}

/** True if the list contains the address. An IPv4 address within IPv6 (`::ffff:…`) counts as that IPv4 address. */
function isIn(list: BlockList, address: string): boolean {
  return list.check(address, familyOf(address));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}
