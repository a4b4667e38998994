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
/** The files of the console's page that the page of the estate serves, too. */
const SHARED = ['console.css', 'dom.js', 'format.js', 'icon.svg'];
export const CONSOLE_PAGE = 'src/console/console-page';

/** The paths with `DOCS=on`. */
export const publicPaths = [
  ...['/docs', '/docs/'],
  ...[...withoutIndex(API_PAGE), ...SWAGGER_UI, 'changelog', 'recipes'].map((file) => `/docs/${file}`),
  ...[
    ...['/estate', '/estate/', ...[...withoutIndex(ESTATE_PAGE), ...SHARED].map((file) => `/estate/${file}`)],
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
  ...withoutIndex(CONSOLE_PAGE).map((file) => `/console/${file}`),
  '/metrics',
];
