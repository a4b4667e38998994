import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';

const maps = new Map<string, SourceMap | undefined>();

/**
 * Shows stacks with their places in the sources. `node --enable-source-maps` does the same. But it prepares the map of the whole bundle at
 * the start, which takes a twentieth of it, and a gateway may never show a stack.
 */
export function mapStacks(): void {
  Error.prepareStackTrace = (error, frames) =>
    [headOf(error), ...frames.map((frame) => `    at ${mapped(frame)}`)].join('\n');
}

function headOf(error: Error): string {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return '<error>';
  }
}

function mapped(frame: NodeJS.CallSite): string {
  // V8's own text of a frame, which the types do not know.
  const text = (frame as { toString(): string }).toString();
  const [file, line, column] = [frame.getFileName(), frame.getLineNumber(), frame.getColumnNumber()];
  if (!file?.startsWith('file:') || line === null || column === null) return text;
  const origin = mapOf(file)?.findOrigin(line, column);
  if (!origin || !('fileName' in origin)) return text;
  const source = new URL(origin.fileName, file).href;
  return text.replace(`${file}:${line}:${column}`, `${source}:${origin.lineNumber}:${origin.columnNumber}`);
}

/** Reads the map that the build puts next to a file. */
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
