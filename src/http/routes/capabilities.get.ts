import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { MAX_ATTEMPTS, MAX_SOURCES } from '../../contract/request.ts';
import { RESULT_TYPES } from '../../contract/result-type.ts';
import { MODEL_FORMATS } from '../../model/port.ts';
import type { RouteDeps } from '../deps.ts';
import { problemsOf } from '../openapi.ts';

/** `GET /v1/capabilities`: for a plan that decides whether to ask. */
export function capabilitiesRoute(app: FastifyInstance, deps: RouteDeps): void {
  app.get(
    '/capabilities',
    {
      schema: {
        operationId: 'capabilities',
        summary: 'What can be asked now',
        response: { 200: Type.Ref('Capabilities'), ...problemsOf('get') },
      },
    },
    async () => {
      const states = await deps.sandbox.readiness();
      const { wallSeconds, memoryMb, timeoutSeconds } = deps.stepReader.limits;
      return {
        compute: states.every((state) => state.ok) ? 'run' : 'unavailable',
        result_types: RESULT_TYPES,
        model_formats: MODEL_FORMATS,
        limits: {
          wall_seconds: wallSeconds,
          memory_mb: memoryMb,
          timeout_seconds: timeoutSeconds,
          body_bytes: deps.bodyMaxBytes,
          result_bytes: deps.bounds.resultMaxBytes,
          prompt_bytes: deps.bounds.promptMaxBytes,
          json_depth: deps.bounds.resultMaxDepth,
          sources: MAX_SOURCES,
          repair_max_attempts: MAX_ATTEMPTS,
        },
        modules: Object.keys(deps.pack.modules),
      };
    },
  );
}
