/** An operation with its present values, as a command and as code. The key is left out, because a sample may be passed on. */
import { publicPath } from './prepare.js';

/** Returns the request that Swagger UI would send. */
export function requestOf(system, [path, method]) {
  const { specSelectors, oas3Selectors } = system;
  const operation = specSelectors.specJson().getIn(['paths', path, method]).toJS();
  const headers = {};
  const query = new URLSearchParams();
  let target = path;
  for (const parameter of operation.parameters ?? []) {
    const value = specSelectors.parameterValues([path, method]).get(`${parameter.in}.${parameter.name}`);
    if (value === undefined || value === null || value === '') continue;
    if (parameter.in === 'path')
      target = target.replace(`{${parameter.name}}`, encodeURIComponent(String(value)));
    else if (parameter.in === 'query') query.set(parameter.name, String(value));
    else headers[parameter.name] = String(value);
  }
  // A chosen file is not text.
  const typed = operation.requestBody && oas3Selectors.requestBodyValue(path, method);
  const body = typeof typed === 'string' ? typed : undefined;
  if (body !== undefined)
    headers['Content-Type'] =
      oas3Selectors.requestContentType(path, method) ?? Object.keys(operation.requestBody.content)[0];
  const search = query.size > 0 ? `?${query}` : '';
  return { method: method.toUpperCase(), url: location.origin + publicPath + target + search, headers, body };
}

const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

export function curl({ method, url, headers, body }) {
  const lines = [`curl -sS${method === 'GET' ? '' : ` -X ${method}`} ${quoted(url)}`, `-H "X-Api-Key: $KEY"`];
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body !== undefined) lines.push(`-d ${quoted(body)}`);
  return lines.join(' \\\n  ');
}

/** Returns a string that is valid in both languages. */
const text = (value) =>
  `'${value
    .replaceAll('\\', '\\\\')
    .replaceAll("'", String.raw`\'`)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('\r', String.raw`\r`)}'`;

/** Returns the inside of a string of several lines. The body stays a text, because a literal of the language may have other values. */
const lines = (body) => body.replaceAll('\\', '\\\\').replaceAll('\r', String.raw`\r`);

export function typeScript({ method, url, headers, body }) {
  const all = [`'X-Api-Key': process.env['KEY'] ?? ''`];
  for (const [name, value] of Object.entries(headers)) all.push(`${text(name)}: ${text(value)}`);
  const members = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    `  headers: { ${all.join(', ')} },`,
    ...(body === undefined
      ? []
      : [`  body: \`${lines(body).replaceAll('`', '\\`').replaceAll('${', '\\${')}\`,`]),
  ];
  return `const response = await fetch(${text(url)}, {
${members.join('\n')}
});
const body = response.status === 204 ? undefined : await response.json();
if (!response.ok) throw new Error(\`\${body.code}: \${body.detail}\`);
console.log(body);`;
}

export function python({ method, url, headers, body }) {
  const all = [`'X-Api-Key': os.environ['KEY']`];
  for (const [name, value] of Object.entries(headers)) all.push(`${text(name)}: ${text(value)}`);
  return `import json, os
from urllib.error import HTTPError
from urllib.request import Request, urlopen

request = Request(
  ${text(url)},
  method='${method}',
  headers={${all.join(', ')}},${body === undefined ? '' : `\n  data='''${lines(body).replaceAll("'", String.raw`\'`)}'''.encode(),`}
)
try:
  with urlopen(request) as response:
    print(response.read().decode())
except HTTPError as error:
  problem = json.load(error)
  raise SystemExit(f"{problem['code']}: {problem['detail']}")`;
}
