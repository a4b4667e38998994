/** The search field, and the list of hits under it. */
import { entriesOf, hitsFor } from './entries.js';

const TITLES = {
  operation: 'Operations',
  recipe: 'Recipes',
  field: 'Fields',
  problem: 'Problems',
  code: 'Codes of the platform',
};

/** `open` shows an operation. */
export function connectSearch(api, open) {
  const field = element('find');
  const list = element('hits');
  const nothing = element('nothing');
  let entries;
  let active = -1;

  const options = () => [...list.querySelectorAll('[role=option]')];
  const isOpen = () => !list.hidden;
  const close = () => {
    list.hidden = true;
    nothing.hidden = true;
    field.setAttribute('aria-expanded', 'false');
    mark(-1);
  };
  const mark = (index) => {
    active = index;
    for (const [at, option] of options().entries()) {
      option.setAttribute('aria-selected', String(at === index));
      if (at === index) option.scrollIntoView({ block: 'nearest' });
    }
    if (index < 0) field.removeAttribute('aria-activedescendant');
    else field.setAttribute('aria-activedescendant', `hit-${index}`);
  };
  const show = async () => {
    const known = await (entries ??= entriesOf(api));
    // An answer that did not come is requested again with the next letter.
    if (!known.isWhole) entries = undefined;
    const hits = hitsFor(known, field.value);
    // The reader may have left the field in the meantime.
    if (document.activeElement !== field) return;
    list.replaceChildren(...groupsOf(hits, take));
    list.hidden = hits.length === 0;
    nothing.textContent = known.isWhole
      ? 'Nothing has these words.'
      : 'The gateway does not answer, so recipes and problems are not searched.';
    nothing.hidden = hits.length > 0 || field.value.trim() === '';
    field.setAttribute('aria-expanded', String(hits.length > 0));
    mark(hits.length > 0 ? 0 : -1);
  };
  const take = ({ operation }, event) => {
    close();
    // An explanation is a link.
    if (!operation) return;
    event.preventDefault();
    field.blur();
    open(operation);
  };

  field.addEventListener('input', () => void show());
  field.addEventListener('focus', () => void show());
  field.addEventListener('blur', close);
  // A press on a result must not take the focus away before it is a click.
  list.addEventListener('mousedown', (event) => event.preventDefault());
  field.addEventListener('keydown', (event) => {
    const count = options().length;
    const moves = { ArrowDown: active + 1, ArrowUp: active - 1 };
    if (event.key === 'Escape' && isOpen()) {
      event.preventDefault();
      close();
    } else if (event.key === 'Enter') {
      event.preventDefault();
      options()[active]?.click();
    } else if (event.key in moves && count > 0) {
      event.preventDefault();
      mark((moves[event.key] + count) % count);
    }
  });
  document.addEventListener('keydown', (event) => {
    const isShortcut = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k';
    const isTyping = event.target.closest?.('input, textarea, select, dialog') !== null;
    if (!isShortcut && (event.key !== '/' || isTyping)) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
}

function groupsOf(hits, take) {
  return Object.entries(TITLES).flatMap(([kind, title]) => {
    const own = [...hits.entries()].filter(([, hit]) => hit.kind === kind);
    if (own.length === 0) return [];
    const group = made('div', { role: 'group', 'aria-label': title }, [
      made('p', { role: 'presentation' }, [title]),
      ...own.map(([index, hit]) => {
        const option = made('a', { role: 'option', id: `hit-${index}`, href: hit.href, tabindex: '-1' }, [
          made('strong', {}, [hit.name]),
          made('span', {}, [hit.about]),
        ]);
        option.addEventListener('click', (event) => take(hit, event));
        return option;
      }),
    ]);
    return [group];
  });
}

function element(id) {
  return document.getElementById(id);
}

function made(name, attributes, children) {
  const node = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) node.setAttribute(attribute, value);
  node.append(...children);
  return node;
}
