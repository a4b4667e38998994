/** Returns the path as the document writes it, `/v1/orders/{name}`, for the route's template `/v1/orders/:name`. */
export function documentedPath(template: string): string {
  return template.replaceAll(/:(\w+)/g, '{$1}');
}
