/** The prefixes of translators and tunnels, with the places of an IPv4 address in them. The numbers are the indexes of its bytes. */
const FORMS: readonly (readonly [prefix: string, ...places: (readonly number[])[]])[] = [
  // Compatible and mapped (RFC 4291, section 2.5.5), and translated (RFC 2765).
  ['000000000000000000000000', [12, 13, 14, 15]],
  ['00000000000000000000ffff', [12, 13, 14, 15]],
  ['0000000000000000ffff0000', [12, 13, 14, 15]],
  // NAT64 (RFC 6052), and its prefix for private networks (RFC 8215), which may be divided.
  ['0064ff9b0000', [12, 13, 14, 15]],
  ['0064ff9b0001', [6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], [12, 13, 14, 15]],
  // 6to4 (RFC 3056).
  ['2002', [2, 3, 4, 5]],
];
/** The interface identifier of ISATAP (RFC 5214), behind any prefix. */
const ISATAP = /^.{16}0[02]005efe/;
/** The prefix of Teredo (RFC 4380), which contains the client's address with all bits inverted. */
const TEREDO = '20010000';

/** Returns the IPv4 addresses to which an IPv6 address may lead, by the known ways to embed one in the other. */
export function addressesWithin(address: string): readonly string[] {
  if (!address.includes(':')) return [];
  const bytes = bytesOf(address);
  const hex = bytes.toString('hex');
  const taken = (places: readonly number[]) => places.map((at) => bytes[at]).join('.');
  const last = [12, 13, 14, 15];
  return [
    ...FORMS.flatMap(([prefix, ...places]) => (hex.startsWith(prefix) ? places.map(taken) : [])),
    ...(ISATAP.test(hex) ? [taken(last)] : []),
    ...(hex.startsWith(TEREDO) ? [last.map((at) => 255 - (bytes[at] ?? 0)).join('.')] : []),
  ];
}

/** Parses an address in the form of the URL, which has no part in decimal notation and no zone. */
function bytesOf(address: string): Buffer {
  const { hostname } = new URL(`http://[${address.replace(/%.*$/, '')}]`);
  const [before = '', after] = hostname.slice(1, -1).split('::');
  const groups = (part = '') => (part === '' ? [] : part.split(':'));
  const missing = 8 - groups(before).length - groups(after).length;
  const all = [...groups(before), ...Array.from({ length: missing }, () => '0'), ...groups(after)];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
