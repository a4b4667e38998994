/** The list of operations next to the page, on wide screens. */
import { namedOperations } from './prepare.js';

/** `open` shows an operation. */
export function connectList(api, open) {
  const list = document.getElementById('list');
  const links = new Map();
  const groups = new Map();
  for (const operation of namedOperations(api)) {
    const { tag, method, operationId, href } = operation;
    const group = groups.get(tag) ?? document.createElement('ul');
    groups.set(tag, group);
    const link = document.createElement('a');
    link.href = href;
    link.title = operation.summary;
    const badge = document.createElement('span');
    badge.className = `method ${method}`;
    badge.textContent = method;
    link.append(badge, ` ${operationId}`);
    link.addEventListener('click', (event) => {
      event.preventDefault();
      open(operation);
    });
    const item = document.createElement('li');
    item.append(link);
    group.append(item);
    links.set(operationId, link);
  }
  for (const [tag, group] of groups) {
    const title = document.createElement('h2');
    title.textContent = tag;
    list.append(title, group);
  }
  return {
    /** Marks the operation that was opened last. */
    mark(operationId) {
      for (const [id, link] of links)
        if (id === operationId) link.setAttribute('aria-current', 'true');
        else link.removeAttribute('aria-current');
    },
  };
}
