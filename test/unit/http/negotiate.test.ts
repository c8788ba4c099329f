import { describe, expect, it } from 'vitest';
import { acceptsJson, routeTable } from '../../../src/http/negotiate.ts';

describe('acceptsJson', () => {
  it.each([
    [undefined, true],
    ['', true],
    ['*/*', true],
    ['application/json', true],
    ['text/html, application/json;q=0.5', true],
    ['application/*;q=0.1', true],
    ['application/problem+json', true],
    ['text/csv', false],
    ['application/json;q=0', false],
    ['application/json; q=0.000', false],
    ['application/jsonx', false],
  ])('%j is %s', (accept, expected) => {
    expect(acceptsJson(accept)).toBe(expected);
  });
});

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
