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
/** Files of src/operation/page-parts. */
const PARTS = ['base.css', 'dom.js', 'format.js', 'icon.svg'];
const CONSOLE_PARTS = [...PARTS, 'copy.js'];
const ESTATE_PARTS = [...PARTS, 'credential.js'];
const API_PARTS = ['icon.svg', 'credential.js', 'copy.js'];

/** The paths with `DOCS=on`. */
export const publicPaths = [
  ...['/docs', '/docs/', '/docs/changelog', '/docs/recipes'],
  ...[...withoutIndex(API_PAGE), ...API_PARTS, ...SWAGGER_UI].map((file) => `/docs/${file}`),
  ...['/estate', '/estate/'],
  ...[...withoutIndex(ESTATE_PAGE), ...ESTATE_PARTS].map((file) => `/estate/${file}`),
  ...['/openapi.json', '/openapi-3.0.json', '/postman-collection.json'],
  ...['/problems', '/problems/overloaded', '/health/live', '/health/ready'],
];
export const managementPaths = [
  ...['/console', '/console/', '/console/runbook'],
  ...[...withoutIndex(CONSOLE_PAGE), ...CONSOLE_PARTS].map((file) => `/console/${file}`),
  '/metrics',
];
