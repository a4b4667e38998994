/** Returns the place of a file that several pages serve, each beside its own files. */
export function pagePart(name: string): URL {
  return new URL(`page-parts/${name}`, import.meta.url);
}
