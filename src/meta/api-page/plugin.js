/** What the page changes in Swagger UI. */
import { exampleOf, fromOperation, linkTo, resolvedAt } from './prepare.js';
import { curl, requestOf, typeScript } from './samples.js';

const LANGUAGES = { curl, TypeScript: typeScript };

export function pagePlugin(document, credential) {
  return (system) => {
    const { createElement: h, Fragment, useEffect, useReducer, useState } = system.React;

    /** The code of an operation, which follows what is typed while it is open. */
    function Samples({ path, method }) {
      const [isOpen, setOpen] = useState(false);
      const [language, setLanguage] = useState('curl');
      const [, update] = useReducer((count) => count + 1, 0);
      useEffect(() => (isOpen ? system.getStore().subscribe(update) : undefined), [isOpen]);
      const code = isOpen ? LANGUAGES[language](requestOf(system.getSystem(), [path, method])) : '';
      const choice = (name) =>
        h(
          'button',
          { key: name, type: 'button', 'aria-pressed': name === language, onClick: () => setLanguage(name) },
          name,
        );
      return h(
        'details',
        { className: 'samples', onToggle: (event) => setOpen(event.currentTarget.open) },
        h('summary', null, 'Code'),
        h(
          'div',
          { className: 'languages' },
          ...Object.keys(LANGUAGES).map(choice),
          h('button', { type: 'button', onClick: () => navigator.clipboard?.writeText(code) }, 'Copy'),
        ),
        h('pre', { tabIndex: 0, 'aria-label': `${language} of this request` }, h('code', null, code)),
      );
    }

    /** The way from a problem that was received to the page that explains it. */
    function Explanation({ text }) {
      const problem = problemIn(text);
      if (!problem) return null;
      return h(
        'p',
        { className: 'explanation' },
        h('a', { href: problem.type }, `What ${problem.code} means, and what to do`),
        problem.code === 'unauthenticated' &&
          h('button', { type: 'button', onClick: () => credential.ask() }, 'Authorize'),
      );
    }

    return {
      fn: {
        opsFilter: found,
        resolveSubtree: async (spec, path) => ({ spec: resolvedAt(spec, path), errors: [] }),
      },
      components: {
        // The sample above shows the same request, without the key.
        curl: () => null,
        // Swagger UI puts a link into a button, which readers with a screen reader cannot reach.
        DeepLink: ({ text }) => h('span', null, text),
      },
      wrapComponents: {
        responses: (Original) => (props) =>
          h(Fragment, null, h(Samples, { path: props.path, method: props.method }), h(Original, props)),
        liveResponse: (Original) => (props) =>
          h(Fragment, null, h(Explanation, { text: props.response.get('text') }), h(Original, props)),
      },
      statePlugins: {
        spec: {
          wrapActions: {
            execute: (original) => async (request) => {
              await complete(system.getSystem(), document, credential, [request.path, request.method]);
              return original(request);
            },
          },
        },
      },
    };
  };
}

function problemIn(text) {
  try {
    const { type, code } = JSON.parse(text);
    return /^\/problems\/[\w-]+$/.test(type) ? { type, code } : undefined;
  } catch {
    return undefined;
  }
}

/** The operations that have every word somewhere: in their path, name or texts. Swagger UI by itself looks at tags only. */
function found(tagged, phrase) {
  const words = phrase.toLowerCase().split(/\s+/).filter(Boolean);
  return tagged
    .map((tag, name) =>
      tag.update('operations', (operations) =>
        operations.filter((each) => {
          const operation = each.get('operation');
          const texts = [each.get('method'), each.get('path'), name];
          for (const field of ['operationId', 'summary', 'description'])
            texts.push(operation.get(field) ?? '');
          const all = texts.join(' ').toLowerCase();
          return words.every((word) => all.includes(word));
        }),
      ),
    )
    .filter((tag) => tag.get('operations').size > 0);
}

/** Fills in what an example cannot hold: the value from another operation, and a new key for a body that was changed. */
async function complete(system, document, credential, [path, method]) {
  const operation = document.paths[path][method];
  const { specSelectors, specActions, oas3Selectors } = system;
  for (const parameter of operation.parameters ?? []) {
    const known = specSelectors
      .specJsonWithResolvedSubtrees()
      .getIn(['paths', path, method, 'parameters'])
      .find((each) => each.get('name') === parameter.name && each.get('in') === parameter.in);
    const value = specSelectors.parameterWithMetaByIdentity([path, method], known).get('value');
    const put = (text) => specActions.changeParamByIdentity([path, method], known, text, false);
    const link = linkTo(document, operation, parameter);
    if (link && value === fromOperation(link.source.operationId)) {
      const supplied = await supply(link, credential);
      if (supplied !== undefined) put(supplied);
    }
    if (parameter.name === 'Idempotency-Key' && value !== undefined && value === exampleOf(parameter)) {
      const { examples = {} } = operation.requestBody?.content['application/json'] ?? {};
      const body = oas3Selectors.requestBodyValue(path, method);
      if (!Object.values(examples).some((each) => isSame(body, each.value))) put(newKey());
    }
  }
}

async function supply({ path, method, source, field }, credential) {
  const { examples = {} } = source.requestBody?.content['application/json'] ?? {};
  const response = await fetch(path, {
    method: method.toUpperCase(),
    headers: { 'content-type': 'application/json', ...credential.headers },
    body: JSON.stringify(Object.values(examples)[0]?.value),
  });
  return response.ok ? (await response.json())[field] : undefined;
}

function isSame(text, value) {
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value);
  } catch {
    return false;
  }
}

function newKey() {
  return `docs-${[...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
