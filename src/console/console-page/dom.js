/** Elements from plain data, and a page that is changed in place: what has the focus, is selected or open stays so. */

const SVG = new Set(['svg', 'path', 'line', 'rect']);

/** @param attributes a boolean makes an attribute be there or not. */
export function h(tag, attributes = {}, ...children) {
  const element = SVG.has(tag)
    ? document.createElementNS('http://www.w3.org/2000/svg', tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {}))
    if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== undefined && value !== null)
      element.setAttribute(name, String(value));
  element.append(...content(children));
  return element;
}

function content(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

/** Makes the children be the content of the place. */
export function show(place, ...children) {
  const wanted = place.cloneNode(false);
  wanted.append(...content(children));
  morph(place, wanted);
}

function morph(old, wanted) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== wanted.nodeValue) old.nodeValue = wanted.nodeValue;
    return;
  }
  for (const { name } of [...old.attributes])
    if (!wanted.hasAttribute(name) && !(name === 'open' && old.localName === 'details'))
      old.removeAttribute(name);
  for (const { name, value } of wanted.attributes)
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const keyed = new Map();
  for (const child of old.children) if (child.dataset?.key) keyed.set(child.dataset.key, child);
  const children = [...wanted.childNodes];
  for (const [index, child] of children.entries()) {
    const here = old.childNodes[index];
    const key = child.dataset?.key;
    const same = key === undefined ? (here?.dataset?.key === undefined ? here : undefined) : keyed.get(key);
    if (same?.nodeName !== child.nodeName) {
      old.insertBefore(child, here ?? null);
      continue;
    }
    if (same !== here) old.insertBefore(same, here ?? null);
    morph(same, child);
  }
  while (old.childNodes.length > children.length) old.lastChild.remove();
}

/**
 * A table of rows.
 * @param columns `{ head, cell, number, wide }`: `number` columns are aligned to the right, `wide` ones are left out on a phone.
 */
export function table(label, columns, rows, keyOf) {
  const kind = ({ number, wide }) => ({
    class: [number && 'number', wide && 'wide'].filter(Boolean).join(' ') || null,
  });
  return h(
    'div',
    { class: 'scroll', role: 'region', 'aria-label': label, tabindex: 0 },
    h(
      'table',
      {},
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          columns.map((column) => h('th', { scope: 'col', ...kind(column) }, column.head)),
        ),
      ),
      h(
        'tbody',
        {},
        rows.map((row) =>
          h(
            'tr',
            { 'data-key': keyOf(row) },
            columns.map((column, index) =>
              h(
                index === 0 ? 'th' : 'td',
                { ...(index === 0 && { scope: 'row' }), ...kind(column) },
                column.cell(row),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

/** A state as a word, with a mark for those who see no colour. */
export function state(kind, word) {
  const marks = { good: '●', watch: '▲', act: '■', off: '○' };
  return h('span', { class: `state ${kind}` }, h('span', { 'aria-hidden': 'true' }, marks[kind]), word);
}

export function panel(title, note, ...children) {
  return h(
    'section',
    { class: 'panel' },
    h('header', {}, h('h2', {}, title), note && h('span', { class: 'quiet' }, note)),
    ...children,
  );
}

export function empty(text) {
  return h('p', { class: 'empty' }, text);
}
