import { Injectable } from '@nestjs/common';
import { documentedPath } from '../shared/documented-path.ts';
import { nearestPath } from './nearest-path.ts';

/** The methods of each path, for the `Allow` header (RFC 9110 15.5.6). They are collected as routes are registered. */
@Injectable()
export class AllowedMethods {
  readonly #routes: { readonly path: RegExp; readonly template: string; readonly method: string }[] = [];

  add(method: string | readonly string[], template: string): void {
    if (template.includes('*')) return;
    const segments = template
      .split('/')
      .map((segment) => (segment.startsWith(':') ? '[^/]+' : RegExp.escape(segment)));
    const path = new RegExp(`^${segments.join('/')}$`);
    for (const each of [method].flat()) this.#routes.push({ path, template, method: each });
  }

  find(url: string): readonly string[] {
    const [path = ''] = url.split('?');
    return [
      ...new Set(this.#routes.filter((route) => route.path.test(path)).map(({ method }) => method)),
    ].sort();
  }

  /** Returns the path of the operation that was probably meant, as the document writes it. */
  nearest(url: string): string | undefined {
    const [path = ''] = url.split('?');
    const operations = this.#routes.filter(({ template }) => template.startsWith('/v1/'));
    const found = nearestPath(path, [...new Set(operations.map(({ template }) => template))]);
    return found && documentedPath(found);
  }

  /**
   * Returns the paths of all dry runs, as the document writes them, if the URL is a dry run that does not exist. Undefined for any other
   * path.
   */
  otherDryRuns(url: string): readonly string[] | undefined {
    const [path = ''] = url.split('?');
    if (!path.endsWith(DRY_RUN)) return undefined;
    return this.#routes.flatMap(({ template }) =>
      template.endsWith(DRY_RUN) ? [documentedPath(template)] : [],
    );
  }
}

const DRY_RUN = '/dry-run';
