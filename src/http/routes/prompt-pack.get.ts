import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import type { RouteDeps } from '../deps.ts';
import { problemsOf } from '../openapi.ts';

/** `GET /v1/prompt-pack`: the pack in force. */
export function packRoute(app: FastifyInstance, deps: RouteDeps): void {
  app.get(
    '/prompt-pack',
    {
      schema: {
        operationId: 'promptPack',
        summary: 'The prompt pack in force',
        response: { 200: Type.Ref('PromptPack'), ...problemsOf('get') },
      },
    },
    async () => {
      const { name, version, language, digest, modules, system, user } = deps.pack;
      return { name, version, language, digest, modules, templates: { system, user } };
    },
  );
}
