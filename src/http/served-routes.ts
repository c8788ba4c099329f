/** Patterns of the routes, for labels: a closed set that a test holds against what the app registers. */
export const SERVED_ROUTES = [
  '/',
  '/page/:file',
  '/healthz',
  '/readyz',
  '/openapi.json',
  '/openapi.yaml',
  '/v1/capabilities',
  '/v1/compute',
  '/v1/compute/admit',
  '/v1/compute/draft',
  '/v1/compute/prompt',
  '/v1/compute/run',
  '/v1/prompt-pack',
  '/v1/usage',
  '/v1/usage/:month',
] as const;
