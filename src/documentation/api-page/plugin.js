/** The changes of the page in Swagger UI. */
import { complete, remember } from './complete.js';
import { copied } from './copy.js';
import { fieldsOf } from './fields.js';
import { resolvedAt } from './prepare.js';
import { curl, python, requestOf, typeScript } from './samples.js';

const LANGUAGES = { curl, TypeScript: typeScript, Python: python };
/** Responses that have arrived and are not drawn yet, by path and method. */
const arrived = new Set();
/** Operations whose response is that of a dry run, by path and method. */
const dry = new Set();
/** Operations whose response has not arrived, by path and method. */
const running = new Set();
/** Settles when what the last request made for itself is removed. */
let removed = Promise.resolve();

/** `dryRuns` has the paths of the document that are buttons of other operations. */
export function pagePlugin(document, dryRuns, credential) {
  const dryRunOf = (write) =>
    Object.values(dryRuns).find(({ post }) => post['x-dry-run-of'] === write.get('operationId'))?.post;

  return (system) => {
    const { createElement: h, Fragment, useEffect, useMemo, useReducer, useRef, useState } = system.React;

    /** Executes the dry run with the parameters and the body of the write, after the same checks. */
    const dryRunButton = (Execute) =>
      class DryRun extends Execute {
        handleValidationResultPass = () => {
          const { specActions, operation, path, method, onExecute } = this.props;
          onExecute();
          specActions.execute({ operation: system.Im.fromJS(dryRunOf(operation)), path, method });
        };

        render() {
          const { disabled } = this.props;
          return h(
            'button',
            { className: 'btn dry-run opblock-control__btn', onClick: this.onClick, disabled },
            'Dry run',
          );
        }
      };

    /** Shows the code of an operation, which changes with the typed values. */
    function Samples({ path, method }) {
      const { operationId } = document.paths[path][method];
      const [language, setLanguage] = useState('curl');
      const [copy, setCopy] = useState({});
      const [, update] = useReducer((count) => count + 1, 0);
      useEffect(() => system.getStore().subscribe(update), []);
      const code = LANGUAGES[language](requestOf(system.getSystem(), [path, method]));
      const choice = (name) =>
        h(
          'button',
          { key: name, type: 'button', 'aria-pressed': name === language, onClick: () => setLanguage(name) },
          name,
        );
      return h(
        'div',
        { className: 'samples' },
        h(
          'div',
          { className: 'languages' },
          ...Object.keys(LANGUAGES).map(choice),
          h(
            'button',
            { type: 'button', onClick: async () => setCopy({ code, says: await copied(code) }) },
            copy.code === code ? copy.says : 'Copy',
          ),
        ),
        h(
          'pre',
          { tabIndex: 0, role: 'region', 'aria-label': `${language} of ${operationId}` },
          h('code', null, code),
        ),
      );
    }

    /** Shows the fields of a body with their descriptions, next to the body. */
    function Fields({ operation }) {
      const { operationId, requestBody } = operation;
      const fields = useMemo(() => {
        const [{ schema = {} } = {}] = Object.values(requestBody.content);
        return fieldsOf(document, schema);
      }, [requestBody]);
      if (fields.length === 0) return null;
      const row = ({ path: name, type, required, description, only }) =>
        h(
          Fragment,
          { key: name },
          h('dt', null, h('code', null, name), ` ${type}`, required && h('strong', null, ' required')),
          h('dd', null, ...withCode(description), only.length > 0 && ` Only for ${only.join(', ')}.`),
        );
      return h(
        'div',
        { className: 'fields', tabIndex: 0, role: 'region', 'aria-label': `Fields of ${operationId}` },
        h('dl', null, ...fields.map(row)),
      );
    }

    /** Shows the `words` of a text as code. */
    function withCode(text) {
      return text.split('`').map((part, index) => (index % 2 === 1 ? h('code', { key: index }, part) : part));
    }

    /** Shows a response, and scrolls to it when it arrives. */
    function Answer({ path, method, children }) {
      const box = useRef(null);
      useEffect(() => {
        if (arrived.delete(path + method)) box.current.scrollIntoView({ block: 'nearest' });
      });
      const word =
        dry.has(path + method) &&
        h(
          'p',
          { className: 'dry' },
          'The answer of a dry run: apart from reads, nothing was sent to the platform.',
        );
      return h('div', { className: 'answer', ref: box }, word, children);
    }

    /** Links a received problem to the page that explains it. */
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
        resolveSubtree: async (spec, path) => ({ spec: resolvedAt(spec, path), errors: [] }),
      },
      components: {
        // The sample above shows the same request, without the key.
        curl: () => null,
        // Swagger UI puts a link into a button, where screen readers cannot reach it.
        DeepLink: ({ text }) => h('span', null, text),
      },
      wrapComponents: {
        // A webhook is a request that the gateway sends, so it has no code and no response here.
        responses: (Original) => (props) =>
          h(
            Fragment,
            null,
            document.paths[props.path] && h(Samples, { path: props.path, method: props.method }),
            h(Original, props),
          ),
        RequestBody: (Original) => (props) => {
          const [root, path, method] = props.specPath;
          return h(
            'div',
            { className: 'body-and-fields' },
            h('div', null, h(Original, props)),
            h(Fields, { operation: document[root][path][method] }),
          );
        },
        execute: (Original) => {
          const DryRun = dryRunButton(Original);
          return (props) =>
            h(Fragment, null, h(Original, props), dryRunOf(props.operation) && h(DryRun, props));
        },
        liveResponse: (Original) => (props) =>
          h(
            Answer,
            { path: props.path, method: props.method },
            h(Explanation, { text: props.response.get('text') }),
            h(Original, props),
          ),
      },
      statePlugins: {
        spec: {
          wrapActions: {
            execute: (original) => async (request) => {
              const { path, method, operation } = request;
              // "Clear" enables the buttons before the response has arrived, which would be shown as that of the next request.
              if (running.has(path + method)) return undefined;
              running.add(path + method);
              const isDry = operation.has('x-dry-run-of');
              dry[isDry ? 'add' : 'delete'](path + method);
              // What the request before this one made is gone before an example is looked for.
              await removed.catch(() => undefined);
              // If the gateway does not answer, the request itself says so.
              const done = complete(system.getSystem(), document, credential, { path, method, isDry });
              const after = await done.catch(() => undefined);
              const answer = await original(request);
              removed = Promise.resolve(after?.());
              await removed;
              return answer;
            },
            // Swagger UI finds an operation in the document by its id, whatever its path is.
            executeRequest: (original) => (request) =>
              original({
                ...request,
                spec: { ...request.spec, paths: { ...request.spec.paths, ...dryRuns } },
              }),
            setResponse: (original) => (path, method, response) => {
              arrived.add(path + method);
              running.delete(path + method);
              remember(response);
              return original(path, method, response);
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
    return /^(\/[\w.~%-]+)*\/problems\/[\w-]+$/.test(type) ? { type, code } : undefined;
  } catch {
    return undefined;
  }
}
