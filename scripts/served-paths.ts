/**
 * The paths that every gateway serves without credentials, on its two listeners. The test of the bundle and the smoke test of compose
 * request all of them.
 */
import { readdirSync } from 'node:fs';

const withoutIndex = (folder: string) => readdirSync(folder).filter((file) => file !== 'index.html');

/** Files of the package swagger-ui-dist. */
export const SWAGGER_UI = ['swagger-ui.css', 'swagger-ui-bundle.js'];
export const API_PAGE = 'src/documentation/api-page';
export const ESTATE_PAGE = 'src/estate/estate-page';
export const CONSOLE_PAGE = 'src/console/console-page';
/** The files of src/operation/page-parts that the console and the page of the estate serve. */
const PARTS = ['base.css', 'dom.js', 'format.js', 'icon.svg'];

/** The paths with `DOCS=on`. */
export const publicPaths = [
  ...['/docs', '/docs/'],
  ...[...withoutIndex(API_PAGE), ...SWAGGER_UI, 'icon.svg', 'changelog', 'recipes'].map(
    (file) => `/docs/${file}`,
  ),
  ...[
    ...['/estate', '/estate/', ...[...withoutIndex(ESTATE_PAGE), ...PARTS].map((file) => `/estate/${file}`)],
    '/openapi.json',
    '/openapi-3.0.json',
    '/postman-collection.json',
    '/problems',
    '/problems/overloaded',
    '/health/live',
    '/health/ready',
  ],
];
export const managementPaths = [
  ...['/console', '/console/', '/console/runbook'],
  ...[...withoutIndex(CONSOLE_PAGE), ...PARTS].map((file) => `/console/${file}`),
  '/metrics',
];
