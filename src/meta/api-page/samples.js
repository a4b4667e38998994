/** An operation with its present values, as a command and as code. The key stays out: a sample may be passed on. */

/** What Swagger UI would send. */
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
  const body = operation.requestBody ? oas3Selectors.requestBodyValue(path, method) : undefined;
  const search = query.size > 0 ? `?${query}` : '';
  return { method: method.toUpperCase(), url: location.origin + target + search, headers, body };
}

const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

export function curl({ method, url, headers, body }) {
  const lines = [`curl -sS${method === 'GET' ? '' : ` -X ${method}`} ${quoted(url)}`, `-H "X-Api-Key: $KEY"`];
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body !== undefined) lines.push(`-H 'Content-Type: application/json'`, `-d ${quoted(body)}`);
  return lines.join(' \\\n  ');
}

export function typeScript({ method, url, headers, body }) {
  const text = (value) => `'${value.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;
  const all = [`'X-Api-Key': process.env['KEY'] ?? ''`];
  if (body !== undefined) all.push(`'Content-Type': 'application/json'`);
  for (const [name, value] of Object.entries(headers)) all.push(`${text(name)}: ${text(value)}`);
  const members = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    `  headers: { ${all.join(', ')} },`,
    ...(body === undefined ? [] : [`  body: JSON.stringify(${body.trim().replaceAll('\n', '\n  ')}),`]),
  ];
  return `const response = await fetch(${text(url)}, {
${members.join('\n')}
});
const body = response.status === 204 ? undefined : await response.json();
if (!response.ok) throw new Error(\`\${body.code}: \${body.detail}\`);
console.log(body);`;
}
