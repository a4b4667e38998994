/** What the page fills in as an operation is executed. */
import { exampleOf, fromOperation, linkTo } from './prepare.js';

/** Fills in what an example cannot hold: the value from another operation, and a new key for a body that was changed. */
export async function complete(system, document, credential, [path, method]) {
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
      const typed = specSelectors.parameterValues([path, method]);
      const supplied = await supply(link, (name) => typed.get(`path.${name}`) ?? '', credential);
      if (supplied !== undefined) put(supplied);
    }
    if (parameter.name === 'Idempotency-Key' && value !== undefined && value === exampleOf(parameter)) {
      const { examples = {} } = operation.requestBody?.content['application/json'] ?? {};
      const body = oas3Selectors.requestBodyValue(path, method);
      if (!Object.values(examples).some((each) => isSame(body, each.value))) put(newKey());
    }
  }
}

/** The value that a link leads to, of a request with the example of the other operation; `typed`: the parameters of the path. */
async function supply({ path, method, source, names }, typed, credential) {
  const { examples = {} } = source.requestBody?.content['application/json'] ?? {};
  const target = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(typed(name)));
  const response = await fetch(target, {
    method: method.toUpperCase(),
    headers: { 'content-type': 'application/json', ...credential.headers },
    body: JSON.stringify(unused(Object.values(examples)[0]?.value)),
  });
  return response.ok ? names.reduce((at, name) => at?.[name], await response.json()) : undefined;
}

/** Of members to add only the first, under a new account: the platform refuses an account that exists. */
function unused(body) {
  if (!body?.members) return body;
  const [member] = body.members;
  return { ...body, members: [{ ...member, account: member.account + random() }] };
}

function isSame(text, value) {
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value);
  } catch {
    return false;
  }
}

function newKey() {
  return `docs-${random()}`;
}

/** 24 hexadecimal digits. */
function random() {
  const bytes = [...crypto.getRandomValues(new Uint8Array(12))];
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
