import { describe, expect, it } from '@jest/globals';
import { parseListedHosts } from '../../config/listed-hosts.ts';
import { AddressRefused, Destinations } from './destinations.ts';

const destinations = (list: string, allowInsecure = false) =>
  new Destinations({ hosts: parseListedHosts(list) ?? [], allowInsecure });

/** Returns the ways to write an IPv4 address, in IPv6 too. */
function formsOf(address: string): string[] {
  const [a = '', b = '', c = '', d = ''] = address.split('.').map((byte) => hexOf(Number(byte)));
  const [ia, ib, ic, id] = address.split('.').map((byte) => hexOf(255 - Number(byte)));
  return [
    ...[address, `::ffff:${address}`, `::${address}`, `::ffff:0:${a}${b}:${c}${d}`],
    ...[`64:ff9b::${address}`, `64:ff9b:1::${a}${b}:${c}${d}`, `64:ff9b:1:ab:cd:ef:${a}${b}:${c}${d}`],
    ...[`64:ff9b:1:${a}${b}:${c}:${d}00::`, `64:ff9b:1:ff${a}:${b}:${c}${d}::`],
    ...[`64:ff9b:1:ffff:${a}:${b}${c}:${d}00:0`, `2002:${a}${b}:${c}${d}::1`],
    ...[`2001:0:1:2:3:4:${ia}${ib}:${ic}${id}`, `2600:1::5efe:${address}`, `2600:1::200:5efe:${address}`],
  ];
}
const hexOf = (byte: number) => byte.toString(16).padStart(2, '0');

describe('the list', () => {
  it.each([
    ...['hook.example', '.svc.example', 'hook.example:8443', '10.0.0.0/8', '10.1.2.3', '10.1.2.3:80'],
    ...['fd00::/8', '::1', '[::1]:8080', '[fd00::/8]:443', 'HOOK.example, localhost:1', 'a_b.c'],
  ])('takes %s', (entry) => {
    expect(parseListedHosts(entry)).toHaveLength(entry.split(',').length);
  });

  it.each([
    ...['', ',', 'a,,b', 'https://hook.example', 'hook.example/', '*', '*.example', 'a b', 'hook.example:0'],
    ...['hook.example:65536', '10.0.0.0/33', 'fd00::/129', '10.0.0.0/8/8', '10.0.0', '0x7f.1', '2130706433'],
    ...['hook..example', '-a.example', 'user@hook.example', '[::1', 'fd00::/8:443:1', 'name/8'],
  ])('refuses %p', (entry) => {
    expect(parseListedHosts(entry)).toBeUndefined();
  });
});

describe('a URL', () => {
  const places = destinations(
    'hook.example,.svc.example:8443,127.0.0.1:8080,10.2.0.0/16,localhost,fd00::/16,169.254.0.0/16',
  );

  it.each([
    ...[
      'https://hook.example/a?b=c',
      'https://hook.example:444/',
      'https://HOOK.example./',
      'http://localhost:1/',
    ],
    ...['https://a.svc.example:8443/', 'https://a.b.svc.example:8443/', 'http://127.0.0.1:8080/'],
    ...['https://10.2.3.4/', 'https://[fd00::1]/', 'http://127.1:8080/', 'http://[::ffff:127.0.0.1]:8080/'],
  ])('%s may be called', (url) => {
    expect(places.refusalOf(url)).toBeUndefined();
  });

  it.each([
    ['nothing', 'URL'],
    ['ftp://hook.example/', 'https URL'],
    ['https://user@hook.example/', 'user'],
    ['https://:secret@hook.example/', 'user'],
    ['https://hook.example/#part', 'fragment'],
    ['https://hook.example:0/', 'port'],
    [`https://hook.example/${'a'.repeat(2_048)}`, '2048'],
    ['http://hook.example/', 'https'],
    ['http://10.2.3.4/', 'https'],
    ['https://other.example/', 'WEBHOOK_HOSTS'],
    ['https://evilhook.example/', 'WEBHOOK_HOSTS'],
    ['https://svc.example:8443/', 'WEBHOOK_HOSTS'],
    ['https://a.svc.example/', 'WEBHOOK_HOSTS'],
    ['http://127.0.0.1:8081/', 'WEBHOOK_HOSTS'],
    ['http://127.0.0.2:8080/', 'WEBHOOK_HOSTS'],
    ['https://10.3.0.1/', 'WEBHOOK_HOSTS'],
    // Numbers in other notations are the same addresses.
    ['https://0x0a030001/', 'WEBHOOK_HOSTS'],
    ['https://167968769/', 'WEBHOOK_HOSTS'],
    ['https://[::ffff:10.3.0.1]/', 'WEBHOOK_HOSTS'],
    ['https://[::10.2.3.4]/', 'WEBHOOK_HOSTS'],
    ['https://[64:ff9b::10.2.3.4]/', 'WEBHOOK_HOSTS'],
    ['https://[2002:a02:304::]/', 'WEBHOOK_HOSTS'],
    ['https://[fe80::1]/', 'WEBHOOK_HOSTS'],
    // These addresses are refused whatever is listed.
    ['https://169.254.169.254/latest/', 'WEBHOOK_HOSTS'],
    ['https://[::ffff:169.254.169.254]/', 'WEBHOOK_HOSTS'],
    ['https://[fd00:ec2::254]/', 'WEBHOOK_HOSTS'],
  ])('%s may not', (url, word) => {
    expect(places.refusalOf(url)).toContain(word);
  });

  it.each([
    ...['169.254.169.254', '100.100.100.200', '192.0.0.192', '168.63.129.16'].flatMap(formsOf),
    ...['fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254', 'fd00:c1::a9fe:a9fe', 'fd00:42::42', 'fe80::1'],
  ])('S26 at %s may never be called, also where a range or its name is listed', async (address) => {
    const all = destinations('0.0.0.0/0,::/0', true);
    expect(all.refusalOf(`https://${address.includes(':') ? `[${address}]` : address}/`)).toContain(
      'WEBHOOK_HOSTS',
    );
    // The lookup of an address resolves to the address itself.
    const { promise: outcome, resolve } = Promise.withResolvers<unknown>();
    all.lookup(443)(address, { all: true }, resolve);
    expect(await outcome).toBeInstanceOf(AddressRefused);
  });

  it.each(['64:ff9b::a02:304', '64:ff9b:1:a02:3:400::', '2002:a02:304::1', '::ffff:10.2.3.4', 'fd00::1'])(
    'at %s may be called where its range is listed',
    (address) => {
      const listed = destinations('64:ff9b::/32,2002::/16,10.2.0.0/16,fd00::/16');
      expect(listed.refusalOf(`https://[${address}]/`)).toBeUndefined();
    },
  );

  it('may be plain http where the operator allows that', () => {
    expect(destinations('hook.example', true).refusalOf('http://hook.example/')).toBeUndefined();
  });

  it('may be called nowhere without a list', () => {
    expect([destinations('').isOff, destinations('a').isOff]).toEqual([true, false]);
    expect(destinations('').refusalOf('https://hook.example/')).toContain('WEBHOOK_HOSTS');
  });
});
