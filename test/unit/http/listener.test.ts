import Fastify from 'fastify';
import { afterEach, expect, it } from 'vitest';
import { listenOn } from '../../../src/http/listener.ts';

const app = Fastify();
afterEach(() => app.close());

it('listens on one address where a name has several', async () => {
  expect(await listenOn(app, 'localhost', 0)).toMatch(/^http:\/\/(?:127\.0\.0\.1|\[::1\]):\d+$/);
  expect(app.addresses()).toHaveLength(1);
});
