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
    const given =
      specSelectors.parameterValues([path, method]).get(`${parameter.in}.${parameter.name}`) ?? '';
    // A list is sent with commas.
    const value = String(given.toJS?.() ?? given);
    if (value === '') continue;
    if (parameter.in === 'path') target = target.replace(`{${parameter.name}}`, encodeURIComponent(value));
    else if (parameter.in === 'query') query.set(parameter.name, value);
    else headers[parameter.name] = value;
  }
  // A chosen file is not text.
  const typed = operation.requestBody && oas3Selectors.requestBodyValue(path, method);
  const body = typeof typed === 'string' ? typed : undefined;
  if (body !== undefined)
    headers['Content-Type'] =
      oas3Selectors.requestContentType(path, method) ?? Object.keys(operation.requestBody.content)[0];
  const search = query.size > 0 ? `?${query}` : '';
  const [{ content = {} } = {}] = Object.values(operation.responses);
  const [answer = 'application/json'] = Object.keys(content);
  const url = location.origin + publicPath + target + search;
  return { method: method.toUpperCase(), url, headers, body, isJson: answer === 'application/json' };
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

const READ_JSON = `const body = response.status === 204 ? undefined : await response.json();
if (!response.ok) throw new Error(\`\${body.code}: \${body.detail}\`);
console.log(body);`;
/** Files and streams are shown as they arrive, because a stream may have no end. */
const READ_PARTS = `if (!response.ok) throw new Error(await response.text());
for await (const part of response.body ?? []) process.stdout.write(part);`;

export function typeScript({ method, url, headers, body, isJson = true }) {
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
${isJson ? READ_JSON : READ_PARTS}`;
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
    for line in response:
      print(line.decode(), end='')
except HTTPError as error:
  problem = json.load(error)
  raise SystemExit(f"{problem['code']}: {problem['detail']}")`;
}
