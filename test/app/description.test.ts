import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import swagger from '@fastify/swagger';
import Fastify from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { generatedFiles } from '../../docs/generate.ts';
import { FAILURES } from '../../src/contract/failure.ts';
import { descriptionRoutes } from '../../src/http/routes/openapi.get.ts';
import { SERVED_ROUTES } from '../../src/http/served-routes.ts';
import { MODEL_FAILURE_REASONS } from '../../src/model/failure.ts';
import { startTestService, type TestService } from '../fakes/service.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

it('has every generated page committed as the code makes it (npm run docs writes them)', async () => {
  for (const [path, text] of Object.entries(await generatedFiles())) {
    expect(readFileSync(`${ROOT}${path}`, 'utf8'), `${path} is stale`).toBe(text);
  }
});

it('says of every failure that counted what trying it again takes', async () => {
  const errors = (await generatedFiles())['docs/errors.md'] ?? '';
  for (const [code, { counts, retryable }] of Object.entries(FAILURES)) {
    const [row = ''] = errors.split('\n').filter((line) => line.startsWith(`| \`${code}\` |`));
    expect(row.includes('with a new `Idempotency-Key`'), code).toBe(counts && retryable);
  }
});

it('says what each reason of a failed model means', async () => {
  const errors = (await generatedFiles())['docs/errors.md'] ?? '';
  for (const [reason, text] of Object.entries(MODEL_FAILURE_REASONS)) {
    expect(errors).toContain(`| \`${reason}\` | ${text} |`);
  }
});

it('serves the description that is committed', async () => {
  const committed = parse(readFileSync(`${ROOT}openapi.yaml`, 'utf8'));
  const served = (await service.app.inject({ url: '/openapi.json' })).json();
  const { version } = served.info;
  expect({ ...served, info: { ...served.info, version: committed.info.version } }).toEqual(committed);
  expect(version).toBe('0.0.0-test');
  expect(parse((await service.app.inject({ url: '/openapi.yaml' })).body)).toEqual(served);
});

it('resolves every reference inside the description', async () => {
  const document = (await service.app.inject({ url: '/openapi.json' })).json();
  const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref as string);
  expect(refs.length).toBeGreaterThan(5);
  for (const ref of refs) {
    const found = ref
      .split('/')
      .slice(1)
      .reduce<Record<string, unknown>>((node, part) => node?.[part] as never, document);
    expect(found, ref).toBeTypeOf('object');
  }
});

it('describes every route it serves, and labels no other', async () => {
  const document = (await service.app.inject({ url: '/openapi.json' })).json();
  const described = Object.keys(document.paths).map((path) => path.replace(/\{(\w+)\}/g, ':$1'));
  const hidden = ['/', '/page/:file', '/openapi.json', '/openapi.yaml'];
  expect([...described, ...hidden].sort()).toEqual([...SERVED_ROUTES].sort());
});

it('shows a readable page without asking another host', async () => {
  const page = await service.app.inject({ url: '/docs/' });
  expect(page.statusCode).toBe(200);
  expect(page.headers['content-type']).toContain('text/html');
  expect(page.body).not.toMatch(/(src|href)="https?:\/\//);
  const script = /<script src="([^"]+)"/.exec(page.body)?.[1] ?? '';
  const loaded = await service.app.inject({ url: new URL(script, 'http://service.example/docs/').pathname });
  expect(loaded.statusCode).toBe(200);
  expect(loaded.headers['content-type']).toContain('javascript');
  expect(loaded.rawPayload.byteLength).toBeGreaterThan(1_000_000);
});

it('makes each of them once, as nobody needs a key to ask for thousands', async () => {
  const app = Fastify();
  const sent: unknown[] = [];
  app.addHook('onSend', async (_http, _reply, payload) => void sent.push(payload));
  await app.register(swagger);
  await descriptionRoutes(app);
  for (const url of ['/openapi.json', '/openapi.yaml', '/docs/', '/docs/js/scalar.js']) {
    await app.inject({ url });
    await app.inject({ url });
    const [first, second] = sent.splice(0);
    expect(Buffer.isBuffer(first), url).toBe(true);
    expect(second, url).toBe(first);
  }
  await app.close();
});

it('leads to the page, and has no others beside it', async () => {
  expect((await service.app.inject({ url: '/docs' })).headers.location).toBe('/docs/');
  const missing = await service.app.inject({ url: '/docs/no-such-page' });
  expect(missing.statusCode).toBe(404);
  expect(missing.json().code).toBe('not_found');
});
