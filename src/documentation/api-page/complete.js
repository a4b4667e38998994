/** The work of the page before and after an operation is executed, so that its example works each time. */
import { exampleOf, fromOperation, linksOf, linkTo, publicPath } from './prepare.js';

/** The job that this page began last. The platform's next import has to wait for its end. */
let lastJob;

export function remember({ status, headers = {}, obj }) {
  if (status === 202 && obj?.jobId !== undefined) lastJob = headers.location;
}

/**
 * Fills in what an example cannot contain: values from other operations, and a new key for a changed body. Returns the work after the
 * response: it removes everything that was made for this request, and restores the words of the example.
 */
export async function complete(system, document, credential, { path, method, isDry }) {
  const operation = document.paths[path][method];
  const { specSelectors, specActions, oas3Selectors } = system;
  const supplied = [];
  const fields = new Map();
  for (const parameter of operation.parameters ?? []) {
    const known = specSelectors
      .specJsonWithResolvedSubtrees()
      .getIn(['paths', path, method, 'parameters'])
      .find((each) => each.get('name') === parameter.name && each.get('in') === parameter.in);
    const value = specSelectors.parameterWithMetaByIdentity([path, method], known).get('value');
    const put = (text) => specActions.changeParamByIdentity([path, method], known, text, false);
    const place = `${parameter.in}.${parameter.name}`;
    const link = linkTo(document, operation, parameter);
    const words = link && fromOperation(link.source.operationId);
    if (link && value === words) supplied.push({ place, link, put, words });
    else fields.set(place, value);
    if (parameter.name === 'Idempotency-Key' && value !== undefined && value === exampleOf(parameter)) {
      const { examples = {} } = operation.requestBody?.content['application/json'] ?? {};
      const body = oas3Selectors.requestBodyValue(path, method);
      if (!Object.values(examples).some((each) => isSame(body, each.value))) put(newKey());
    }
  }
  if (operation.requestBody?.content['text/csv'] && lastJob !== undefined)
    await request('get', `${lastJob}/events`, credential);
  const found = await supply(supplied, fields, credential);
  for (const { place, put } of supplied) if (found?.has(place)) put(found.get(place));
  return async () => {
    for (const { place, link, put, words } of supplied) {
      // The result of the other operation still exists.
      if (!found?.has(place) || link.method === 'get') continue;
      put(words);
      const end = removerOf(document, link.source);
      if (!end || (end.operationId === operation.operationId && !isDry)) continue;
      const [where, name] = end.place.split('.');
      const value = found.get(place);
      const headers = where === 'header' ? { [name]: value } : {};
      await request('delete', filled(end.path, new Map([...found, [end.place, value]])), credential, {
        headers,
      });
    }
  };
}

/**
 * Supplies the values of `fields` and of the remaining links. Of a list it uses the first item that leads to values for the other links
 * too. Returns undefined if there is none.
 */
async function supply([first, ...others], fields, credential) {
  if (!first) return fields;
  const { method, path, source, names } = first.link;
  const { examples = {} } = source.requestBody?.content['application/json'] ?? {};
  const body = method === 'get' ? undefined : unused(Object.values(examples)[0]?.value);
  const answer = await request(method, filled(path, fields), credential, { body });
  const values = names.reduce((found, name) => found.flatMap((each) => membersOf(each, name)), [answer]);
  for (const value of values) {
    const found = await supply(others, new Map([...fields, [first.place, value]]), credential);
    if (found) return found;
  }
  return undefined;
}

/** Returns all items of a list. */
function membersOf(value, name) {
  if (Array.isArray(value)) return value;
  return value?.[name] === undefined ? [] : [value[name]];
}

/**
 * Finds the operation that removes the object which another operation makes, by a link of its response: its id, its path, and the parameter
 * that names the object.
 */
function removerOf(document, source) {
  const ids = new Map(linksOf(document, source).map((link) => [link.operationId, link]));
  for (const [path, { delete: end }] of Object.entries(document.paths)) {
    const { operationId, parameters = {} } = ids.get(end?.operationId) ?? {};
    if (operationId !== undefined) return { operationId, path, place: Object.keys(parameters)[0] };
  }
  return undefined;
}

/** Returns the body of the response. Undefined if it is a problem. */
async function request(method, path, credential, { headers = {}, body } = {}) {
  const response = await fetch(path, {
    method: method.toUpperCase(),
    headers: { ...(body && { 'content-type': 'application/json' }), ...headers, ...credential.headers },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  return response.ok && response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : undefined;
}

/** Returns the address of a path of the document, with the values of its parameters. */
function filled(path, fields) {
  return (
    publicPath +
    path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(fields.get(`path.${name}`) ?? ''))
  );
}

/** Keeps only the first of the members to add, under a new account, because the platform refuses an account that exists. */
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

/** Returns 24 hexadecimal digits. */
function random() {
  const bytes = [...crypto.getRandomValues(new Uint8Array(12))];
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
