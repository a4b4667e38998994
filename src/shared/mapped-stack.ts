import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';

/** The place of a frame in a built file. */
const PLACE = /(file:\/\/\S+?\.js):(\d+):(\d+)/g;
const maps = new Map<string, SourceMap | undefined>();

/**
 * Returns a stack with its places in the sources. Call it where a stack is shown. `node --enable-source-maps` maps every stack that is read,
 * also those that Node reads when it closes a connection, and so reads the map of the whole bundle in each process.
 */
export function mappedStack(stack: string): string {
  return stack.replace(PLACE, (place, file: string, line: string, column: string) => {
    const origin = mapOf(file)?.findOrigin(Number(line), Number(column));
    if (!origin || !('fileName' in origin)) return place;
    return `${new URL(origin.fileName, file).href}:${origin.lineNumber}:${origin.columnNumber}`;
  });
}

/** Returns the map that the build puts next to a file. */
function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) maps.set(file, readMap(file));
  return maps.get(file);
}

function readMap(file: string): SourceMap | undefined {
  try {
    const text = readFileSync(new URL(`${file}.map`), 'utf8');
    return new SourceMap(JSON.parse(text) as SourceMapPayload);
  } catch {
    // A file without a map, such as a module of a preload.
    return undefined;
  }
}
