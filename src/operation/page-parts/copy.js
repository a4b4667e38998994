/** Copies the text, and returns what became of it. Browsers have a clipboard only for pages that came by TLS or from the same machine. */
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return 'Copied';
  } catch {
    return 'The browser does not allow it';
  }
}
