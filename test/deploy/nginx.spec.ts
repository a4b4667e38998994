import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { type DocumentedRoute, routes } from '../support/contract.ts';

/** The locations of deploy/nginx against the document. What nginx makes of them is in test/e2e/proxies.e2e.ts. */

const FILES = ['text/csv', 'application/x-ndjson'];
const STREAMS = [...FILES, 'text/event-stream'];

const locations = Array.from(
  readFileSync('deploy/nginx/gateway.conf', 'utf8').matchAll(/^ {2}location ~ (\S+) \{\n(.*?)^ {2}\}/gms),
  ([, path = '', directives = '']) => ({ path: new RegExp(path), directives }),
);
const namesOf = (all: readonly DocumentedRoute[]) => all.map(({ operation }) => operation.operationId).sort();
const hasType = (content: object | undefined, types: readonly string[]) =>
  Object.keys(content ?? {}).some((type) => types.includes(type));

it.each([
  [
    'files, whose bodies',
    'proxy_request_buffering off;',
    ({ operation }: DocumentedRoute) => hasType(operation.requestBody?.content, FILES),
  ],
  [
    'streams, whose responses',
    'proxy_buffering off;',
    ({ operation }: DocumentedRoute) => hasType(operation.responses['200']?.content, STREAMS),
  ],
])('K62 nginx passes on the %s flow, and no others', (_, directive, flows) => {
  const [location, ...others] = locations.filter(({ directives }) => directives.includes(` ${directive}`));
  expect(others).toEqual([]);
  const picked = routes.filter(({ template }) => location?.path.test(template.replaceAll(/[{}]/g, '')));
  expect(namesOf(picked)).toEqual(namesOf(routes.filter(flows)));
});
