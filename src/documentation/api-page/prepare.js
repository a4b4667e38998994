/** The OpenAPI document as the page shows it: the same operations, in a shorter form. */

/** The path under which a proxy shows the gateway, without a slash at its end. Paths of the document are below it. */
export const publicPath = new URL('..', import.meta.url).pathname.slice(0, -1);

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete'];

/** Headers that every response may have. */
const OF_ANY_RESPONSE = new Set(['RateLimit-Policy', 'RateLimit', 'Server-Timing']);

/** The value of a required parameter until another operation supplies it. */
export const fromOperation = (operationId) => `taken from ${operationId}`;

/** Returns the document without its dry runs, and their paths. On the page, a dry run is a button of its write. */
export function withoutDryRuns(document) {
  const paths = Object.entries(document.paths);
  const isDryRun = ([, { post }]) => post?.['x-dry-run-of'] !== undefined;
  return {
    shown: { ...document, paths: Object.fromEntries(paths.filter((path) => !isDryRun(path))) },
    dryRuns: Object.fromEntries(paths.filter(isDryRun)),
  };
}

export function prepare(document, dryRuns) {
  const spec = structuredClone(document);
  const dryAnswers = new Map(
    Object.values(dryRuns).map(({ post }) => [post['x-dry-run-of'], post.responses['200']]),
  );
  const common = problemsOf(resolve(document, document.components?.responses?.Problem), document);
  for (const operation of operationsOf(spec)) {
    const own = new Map();
    if (dryAnswers.has(operation.operationId))
      operation.responses['dry run'] = structuredClone(dryAnswers.get(operation.operationId));
    for (const [status, response] of Object.entries(operation.responses)) {
      const resolved = resolve(document, response);
      if (status === 'default' || Number(status) >= 400) {
        for (const [slug, problem] of problemsOf(resolved, document))
          if (!common.has(slug)) own.set(slug, problem);
        delete operation.responses[status];
      } else {
        const { headers = {} } = resolved;
        const headersHere = Object.entries(headers).filter(([name]) => !OF_ANY_RESPONSE.has(name));
        // The page follows links itself, and has no column for them.
        operation.responses[status] = {
          ...resolved,
          headers: Object.fromEntries(headersHere),
          links: undefined,
        };
      }
    }
    operation.responses.default = { description: descriptionOf(own, common) };
    for (const parameter of operation.parameters ?? [])
      tidy(parameter, linkTo(document, operation, parameter));
    for (const { value } of Object.values(
      operation.requestBody?.content?.['application/json']?.examples ?? {},
    ))
      moveTimes(value);
    // The page adds the credential.
    delete operation.security;
  }
  delete spec.components?.securitySchemes;
  spec.info.description = folded(spec.info.description);
  return spec;
}

/** Folds explanations of words and problems, so that a click opens them. Links of the operations lead to the problems. */
function folded(description) {
  return description
    .replace(/(?:^\|.*\n)+/m, '<details><summary>Words</summary>\n\n$&\n</details>\n')
    .replace(
      /^## (Problems .*)$([^]*)/m,
      '<details id="any-request"><summary>$1</summary>\n$2\n\n</details>\n',
    );
}

function operationsOf({ paths }) {
  return Object.values(paths).flatMap((path) =>
    METHODS.map((method) => path[method]).filter((operation) => operation !== undefined),
  );
}

/** Returns each operation with its tag and its address on this page, in the order of the page. */
export function namedOperations({ paths, tags }) {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    METHODS.filter((method) => methods[method]).map((method) => {
      const operation = methods[method];
      const [tag] = operation.tags;
      return {
        ...operation,
        path,
        method,
        tag,
        href: `#/${encodeURIComponent(tag)}/${operation.operationId}`,
      };
    }),
  );
  return tags.flatMap(({ name }) => operations.filter(({ tag }) => tag === name));
}

/**
 * Finds the operation whose response supplies the parameter, by a link of the document, and the names that lead to it in the body. An
 * operation that finds the value is preferred to one that makes something.
 */
export function linkTo(document, { operationId }, { name, in: where }) {
  const found = [];
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, source] of Object.entries(methods))
      for (const link of linksOf(document, source)) {
        const expression = link.parameters?.[`${where}.${name}`] ?? '';
        const names = /^\$response\.body#\/(\S+)$/.exec(expression)?.[1]?.split('/');
        if (link.operationId === operationId && names) found.push({ path, method, source, names });
      }
  return found.find(({ method }) => method === 'get') ?? found[0];
}

export function linksOf(document, { responses }) {
  return Object.values(responses).flatMap((response) =>
    Object.values(resolve(document, response).links ?? {}),
  );
}

export function exampleOf({ example, examples, schema = {} }) {
  return example ?? Object.values(examples ?? {})[0]?.value ?? schema.example ?? schema.examples?.[0];
}

export function resolve(document, part) {
  if (part?.$ref === undefined) return part ?? {};
  const names = part.$ref.slice(2).split('/');
  return names.reduce((at, name) => at?.[name.replaceAll('~1', '/').replaceAll('~0', '~')], document) ?? {};
}

const DAY_MS = 24 * 3_600_000;
const SIX_DAYS_MS = 6 * DAY_MS;

/** The times of a maintenance and of a scheduled order have to be in the days to come; those of a document are not for long. */
function moveTimes(value) {
  const then = Date.now() + SIX_DAYS_MS;
  // The same order again on one day gets its record.
  if (value.notBefore) value.notBefore = new Date(then - (then % DAY_MS)).toISOString();
  if (!value.until) return;
  const aheadMs = then - Date.parse(value.from);
  for (const name of ['from', 'until'])
    value[name] = new Date(Date.parse(value[name]) + aheadMs).toISOString();
}

/** Returns status and title by slug, from the examples of a response. */
function problemsOf(response, document) {
  const { examples = {} } = response.content?.['application/problem+json'] ?? {};
  return new Map(
    Object.entries(examples).map(([slug, each]) => {
      const { status, title } = resolve(document, each).value;
      return [slug, { status, title }];
    }),
  );
}

function descriptionOf(own, common) {
  const rows = [...own].sort(([, one], [, other]) => one.status - other.status);
  const list = rows.map(
    ([slug, { status, title }]) => `- ${status} [\`${slug}\`](${publicPath}/problems/${slug}) ${title}`,
  );
  const others = common.size > 0 ? '[The problems of any operation](#any-request) stand at the top.' : '';
  if (list.length === 0) return `No problem of its own. ${others}`;
  return `Problems of this operation:\n\n${list.join('\n')}\n\n${others}`;
}

/**
 * Removes examples of optional parameters. Swagger UI fills in every example, and such a parameter would narrow each list to almost
 * nothing.
 */
function tidy(parameter, link) {
  const example = link ? fromOperation(link.source.operationId) : exampleOf(parameter);
  const { schema = {} } = parameter;
  for (const holder of [parameter, schema]) {
    delete holder.example;
    delete holder.examples;
  }
  // The words are a placeholder, which does not match the pattern.
  if (link) delete schema.pattern;
  if (example === undefined) return;
  if (parameter.required || parameter.name === 'Idempotency-Key') parameter.example = example;
  else if (schema.default === undefined)
    parameter.description = `${parameter.description ?? ''} ${suchAs(parameter, example)}`.trim();
}

function suchAs({ description = '' }, example) {
  return description.includes(`\`${example}\``) ? '' : `Example: \`${example}\``;
}

/**
 * Returns the object at a path, with references followed, for Swagger UI. Its own resolver reads the whole document again for every
 * operation that is opened. A schema that contains itself remains a reference there.
 */
export function resolvedAt(document, path) {
  return follow(
    document,
    path.reduce((at, name) => at?.[name], document),
    [],
  );
}

function follow(document, part, within) {
  if (typeof part !== 'object' || part === null) return part;
  if (Array.isArray(part)) return part.map((each) => follow(document, each, within));
  const { $ref, ...beside } = part;
  if (typeof $ref === 'string' && !within.includes($ref)) {
    const target = follow(document, resolve(document, { $ref }), [...within, $ref]);
    const title = $ref.startsWith('#/components/schemas/') ? { title: $ref.split('/').at(-1) } : {};
    return { ...title, ...target, ...follow(document, beside, within) };
  }
  return Object.fromEntries(
    Object.entries(part).map(([name, each]) => [name, follow(document, each, within)]),
  );
}
