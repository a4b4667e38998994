/** The API page: Swagger UI over this gateway's document. */
import { Credential } from './credential.js';
import { connectList } from './list.js';
import { pagePlugin } from './plugin.js';
import { namedOperations, prepare, withoutDryRuns } from './prepare.js';
import { connectSearch } from './search.js';

const dark = matchMedia('(prefers-color-scheme: dark)');
const followScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followScheme);
followScheme();

const loaded = await fetch(new URL('../openapi.json', import.meta.url))
  .then((response) => response.ok && response.json())
  .catch(() => undefined);
if (!loaded || !globalThis.SwaggerUIBundle) {
  document.querySelector('.loading').textContent = 'The gateway does not answer. Load the page again.';
  // The page has no other content to show.
  await new Promise(() => {});
}
const { shown: api, dryRuns } = withoutDryRuns(loaded);
const acceptsTokens = Object.values(api.components.securitySchemes).some(({ type }) => type === 'http');
const credential = new Credential(acceptsTokens);

/** Other pages link to an operation by its id alone. Swagger UI changes the address. */
const askedFor = () =>
  namedOperations(api).find(({ operationId, 'x-dry-run': dryRun }) =>
    [`#${operationId}`, `#${dryRun}`].includes(location.hash),
  );
const asked = askedFor();

/** The time for which Swagger UI reads a stream of events. It shows nothing of a stream before its end. */
const STREAM_MS = 3_000;

/** Works as `fetch`, but ends a stream of events after a time, because it may have no end. */
async function fetchBeginning(url, init) {
  const response = await fetch(url, init);
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
  const reader = response.body.getReader();
  setTimeout(() => void reader.cancel(), STREAM_MS);
  const parts = [];
  for (let part = await reader.read(); !part.done; part = await reader.read()) parts.push(part.value);
  return Object.defineProperty(new Response(new Blob(parts), response), 'url', { value: url });
}

const ui = globalThis.SwaggerUIBundle({
  spec: prepare(api, dryRuns),
  dom_id: '#swagger-ui',
  deepLinking: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: -1,
  defaultModelExpandDepth: 3,
  validatorUrl: null,
  plugins: [pagePlugin(api, dryRuns, credential)],
  requestInterceptor: (request) => {
    Object.assign(request.headers, credential.headers);
    request.userFetch = fetchBeginning;
    return request;
  },
  responseInterceptor: (response) => {
    if (response.status === 401 && response.obj?.code === 'unauthenticated') void credential.check();
    return response;
  },
});

/** The elements that Swagger UI leaves without a name, at a wrong level or unreachable by keyboard. */
const UNNAMED = [
  ['.information-container', () => ['role', 'region']],
  ['.information-container', () => ['aria-label', 'About this API']],
  ['.responses-table[role=region]', (table) => ['aria-label', `Answer of ${operationIdOf(table)}`]],
  ['.opblock-tag', () => ['aria-level', '2']],
  ['.opblock-body h4', () => ['aria-level', '3']],
  ['.opblock-body h5', () => ['aria-level', '4']],
  ['textarea.body-param__text', () => ['aria-label', 'Request body']],
  ['.examples-select select', () => ['aria-label', 'Example']],
  ['.content-type, .content-type-wrapper select', () => ['aria-label', 'Media type']],
  [
    '.parameters-col_description :is(select, input, textarea)',
    (control) => ['aria-label', control.closest('tr').dataset.paramName],
  ],
  ['pre.microlight, .highlight-code', () => ['tabindex', '0']],
];
const operationIdOf = (part) => part.closest('.opblock').id.split('-').at(-1);
new MutationObserver(() => {
  for (const [selector, attributeOf] of UNNAMED)
    for (const control of document.querySelectorAll(selector)) {
      const [name, value] = attributeOf(control);
      if (control.getAttribute(name) !== value) control.setAttribute(name, value);
    }
}).observe(document.getElementById('swagger-ui'), { childList: true, subtree: true });

/** Opens an operation in its place, and scrolls to it. */
function open({ tag, operationId }) {
  const { layoutActions } = ui.getSystem();
  layoutActions.show(['operations-tag', tag], true);
  layoutActions.show(['operations', tag, operationId], true);
  list.mark(operationId);
  const lead = () => {
    const block = document.querySelector(`.opblock.is-open[id$="-${operationId}"]`);
    // The operation is not drawn yet.
    if (!block) return requestAnimationFrame(lead);
    block.scrollIntoView();
    block.querySelector('.opblock-summary-control').focus({ preventScroll: true });
  };
  requestAnimationFrame(lead);
}
const list = connectList(api, open);
connectSearch(api, open);

if (asked) open(asked);
addEventListener('hashchange', () => askedFor() && open(askedFor()));

// Explanations open in a new tab, because the page would lose typed text.
document.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (/\/(problems(\/[\w-]+)?|openapi(-3\.0)?\.json|docs\/(changelog|recipes))$/.test(link?.pathname))
    link.target = '_blank';
  if (link?.getAttribute('href') === '#any-request') {
    event.preventDefault();
    const problems = document.getElementById('any-request');
    problems.open = true;
    problems.scrollIntoView();
  }
});
