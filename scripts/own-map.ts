import { decode, encode, type SourceMapSegment } from '@jridgewell/sourcemap-codec';

interface SourceMap {
  readonly version: number;
  readonly sources: readonly string[];
  readonly mappings: string;
}

/**
 * Removes the locations of packages from a source map, and keeps their names. Node decodes the whole map at the first stack that it shows,
 * and keeps it. With the packages that took 100 MiB, so a gateway in a container of 512 MiB considered its heap full and refused every
 * request.
 */
export function ownMap({ version, sources, mappings }: SourceMap): SourceMap & { names: [] } {
  let isOwn = false;
  const lines = decode(mappings).map((line) =>
    line.flatMap((segment): SourceMapSegment[] => {
      const [column, source, row, place] = segment;
      const wasOwn = isOwn;
      isOwn = source !== undefined && !sources[source]?.includes('node_modules/');
      if (isOwn && source !== undefined) return [[column, source, row ?? 0, place ?? 0]];
      // The first segment of a package ends the last one before it.
      return wasOwn ? [[column]] : [];
    }),
  );
  return { version, sources, names: [], mappings: encode(lines) };
}
