const TYPE = /^[ \t]*([\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+)/;
/** A parameter (RFC 9110 5.6.6), also with blanks around `=`, which some senders write. There may be nothing between two semicolons. */
const PARAMETER =
  /[ \t]*;[ \t]*(?:([\w!#$%&'*+.^`|~-]+)[ \t]*=[ \t]*(?:([\w!#$%&'*+.^`|~-]+)|"((?:[^"\\]|\\.)*)"))?/y;
const END = /[ \t]*$/y;
/** The names of charsets that are UTF-8 or a part of it, as US-ASCII is. */
const UTF8_NAMES: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii']);

/**
 * Returns a media type in lower case, such as `text/csv`, if its content is in UTF-8. Undefined for another charset, or if the header is no
 * media type.
 */
export function utf8Type(header: string): string | undefined {
  const [start, type] = TYPE.exec(header) ?? [];
  if (start === undefined || type === undefined) return undefined;
  PARAMETER.lastIndex = start.length;
  let end = start.length;
  for (let found = PARAMETER.exec(header); found; found = PARAMETER.exec(header)) {
    end = PARAMETER.lastIndex;
    const [, name = '', token, quoted = ''] = found;
    const value = token ?? quoted.replaceAll(/\\(.)/g, '$1');
    if (name.toLowerCase() === 'charset' && !UTF8_NAMES.has(value.toLowerCase())) return undefined;
  }
  END.lastIndex = end;
  return END.test(header) ? type.toLowerCase() : undefined;
}
