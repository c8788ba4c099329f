/** Remembers which methods each route pattern takes, so that another method is a 405 and not a 404. */
export interface RouteTable {
  add(pattern: string, methods: readonly string[]): void;
  /** Methods of the route that this path belongs to; none: there is no such route. */
  methodsOf(path: string): readonly string[];
}

/** A table of patterns such as `/v1/usage/:month`; bounded by the routes of the service. */
export function routeTable(): RouteTable {
  const routes: { readonly match: RegExp; readonly methods: readonly string[] }[] = [];
  return {
    add: (pattern, methods) => {
      const source = pattern.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:[A-Za-z]+/g, '[^/]+');
      routes.push({ match: new RegExp(`^${source}$`), methods });
    },
    methodsOf: (path) => [
      ...new Set(routes.filter(({ match }) => match.test(path)).flatMap(({ methods }) => methods)),
    ],
  };
}
