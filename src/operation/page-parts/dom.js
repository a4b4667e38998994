/** Elements from plain data, and a page that is changed in place: what has the focus, is selected or open stays so. */

/** @param name the tag and its classes, as `p.quiet`. A plain object that follows has the attributes. */
export function h(name, ...children) {
  const [tag, ...classes] = name.split('.');
  const element = document.createElement(tag);
  if (classes.length > 0) element.className = classes.join(' ');
  const attributes = children[0]?.constructor === Object ? children.shift() : {};
  for (const [key, value] of Object.entries(attributes))
    if (![false, null, undefined].includes(value)) element.setAttribute(key, value === true ? '' : value);
  element.append(...shown(children));
  return element;
}

function shown(children) {
  return children.flat(Infinity).filter((child) => ![false, null, undefined].includes(child));
}

/** Makes the children be the content of the place. */
export function show(place, ...children) {
  const wanted = place.cloneNode(false);
  wanted.append(...shown(children));
  morph(place, wanted);
}

function morph(old, wanted) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== wanted.nodeValue) old.nodeValue = wanted.nodeValue;
    return;
  }
  old.press = wanted.press;
  for (const { name } of [...old.attributes]) if (!wanted.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of wanted.attributes)
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const keyOf = (node) => node?.dataset?.key;
  const keyed = new Map([...old.children].map((child) => [keyOf(child), child]));
  for (const [index, child] of [...wanted.childNodes].entries()) {
    const here = old.childNodes[index];
    const same = keyOf(child) === keyOf(here) ? here : keyOf(child) && keyed.get(keyOf(child));
    if (same?.nodeName !== child.nodeName) old.insertBefore(child.cloneNode(), here ?? null);
    else if (same !== here) old.insertBefore(same, here);
    morph(old.childNodes[index], child);
  }
  while (old.childNodes.length > wanted.childNodes.length) old.lastChild.remove();
}

/**
 * A table of rows.
 * @param columns `[head, cell, kind]`: those of the kind `.wide` are left out on a phone.
 */
export function table(label, columns, rows, keyOf) {
  const head = columns.map(([title, , kind = '']) => h(`th${kind}`, { scope: 'col' }, title));
  const body = rows.map((row) => {
    const [[, first], ...others] = columns;
    const cells = others.map(([, cell, kind = '']) => h(`td${kind}`, cell(row)));
    return h('tr', { 'data-key': keyOf(row) }, h('th', { scope: 'row' }, first(row)), cells);
  });
  const parts = h('table', h('thead', h('tr', head)), h('tbody', body));
  return h('div.scroll', { role: 'region', 'aria-label': label, tabindex: 0 }, parts);
}

/** A state as a word, with a mark for those who see no colour. */
export function word(kind, text) {
  const marks = { good: '●', watch: '▲', act: '■', off: '○' };
  return h(`span.state.${kind}`, h('span', { 'aria-hidden': 'true' }, `${marks[kind]} `), text);
}

export function panel(title, ...children) {
  return h('section.panel', h('h2', title), children);
}

export function facts(values) {
  const pairs = Object.entries(values).map(([name, value]) => [h('dt', name), h('dd', value)]);
  return h('dl.facts', pairs);
}

/** @param press is called with the button when it is pressed. */
export function button(text, press, kind = '') {
  return Object.assign(h(`button${kind}`, { type: 'button' }, text), { press });
}

// One for all: a button that stays in its place may get another `press`.
document.addEventListener('click', ({ target }) => {
  const pressed = target.closest?.('button');
  pressed?.press?.(pressed);
});
