const TYPE = /^[ \t]*([\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+)/;
/** RFC 9110 5.6.6, and blanks around `=`, which some senders write. Between two semicolons there may be nothing. */
const PARAMETER =
  /[ \t]*;[ \t]*(?:([\w!#$%&'*+.^`|~-]+)[ \t]*=[ \t]*(?:([\w!#$%&'*+.^`|~-]+)|"((?:[^"\\]|\\.)*)"))?/y;
const END = /[ \t]*$/y;
/** US-ASCII is a part of UTF-8. */
const UTF8_NAMES: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii']);

/** A media type in lower case, such as `text/csv`, whose content is in UTF-8; undefined for another charset or where the header is no media type. */
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
