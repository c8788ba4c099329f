import { describe, expect, it } from 'vitest';
import { routeTable } from '../../../src/http/negotiate.ts';

describe('routeTable', () => {
  it('knows the methods of a path by its pattern, dots and parameters included', () => {
    const routes = routeTable();
    routes.add('/openapi.json', ['GET']);
    routes.add('/v1/usage/:month', ['GET', 'HEAD']);
    routes.add('/v1/usage/:month', ['GET']);
    expect(routes.methodsOf('/v1/usage/2026-01')).toEqual(['GET', 'HEAD']);
    expect(routes.methodsOf('/v1/usage/2026-01/x')).toEqual([]);
    expect(routes.methodsOf('/openapiXjson')).toEqual([]);
    expect(routes.methodsOf('/openapi.json')).toEqual(['GET']);
  });
});
