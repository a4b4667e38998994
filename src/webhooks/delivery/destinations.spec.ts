import { describe, expect, it } from '@jest/globals';
import { parseListedHosts } from '../../config/listed-hosts.ts';
import { Destinations } from './destinations.ts';

const destinations = (list: string, allowInsecure = false) =>
  new Destinations({ hosts: parseListedHosts(list) ?? [], allowInsecure });

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
    // Numbers in other forms are the same addresses.
    ['https://0x0a030001/', 'WEBHOOK_HOSTS'],
    ['https://167968769/', 'WEBHOOK_HOSTS'],
    ['https://[::ffff:10.3.0.1]/', 'WEBHOOK_HOSTS'],
    ['https://[::10.2.3.4]/', 'WEBHOOK_HOSTS'],
    ['https://[64:ff9b::10.2.3.4]/', 'WEBHOOK_HOSTS'],
    ['https://[2002:a02:304::]/', 'WEBHOOK_HOSTS'],
    ['https://[fe80::1]/', 'WEBHOOK_HOSTS'],
    // Whatever is listed.
    ['https://169.254.169.254/latest/', 'WEBHOOK_HOSTS'],
    ['https://[::ffff:169.254.169.254]/', 'WEBHOOK_HOSTS'],
    ['https://[fd00:ec2::254]/', 'WEBHOOK_HOSTS'],
  ])('%s may not', (url, word) => {
    expect(places.refusalOf(url)).toContain(word);
  });

  it('may be plain http where the operator allows that', () => {
    expect(destinations('hook.example', true).refusalOf('http://hook.example/')).toBeUndefined();
  });

  it('may be called nowhere without a list', () => {
    expect([destinations('').isOff, destinations('a').isOff]).toEqual([true, false]);
    expect(destinations('').refusalOf('https://hook.example/')).toContain('WEBHOOK_HOSTS');
  });
});
