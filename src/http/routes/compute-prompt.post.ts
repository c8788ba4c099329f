import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { faultChecker } from '../../contract/faults.ts';
import { isProblem } from '../../contract/problem.ts';
import { type PromptRequest, PromptRequestSchema } from '../../contract/request.ts';
import { promptFor } from '../../step/prompt.ts';
import type { RouteDeps } from '../deps.ts';
import { sendProblem } from '../errors.ts';
import { underDeadline } from '../hang-up.ts';
import { problemsOf } from '../openapi.ts';
import { readBody } from '../read-body.ts';
import { resultSchemaProblem } from '../result-schema.ts';
import { askedOf, sourcesOf } from '../step-request.ts';

const check = faultChecker(PromptRequestSchema);

/** `POST /v1/compute/prompt`: the prompt that `/v1/compute` would send. Asks no model, runs and counts nothing. */
export function promptRoute(app: FastifyInstance, deps: RouteDeps): void {
  app.post(
    '/compute/prompt',
    {
      schema: {
        operationId: 'prompt',
        summary: 'See the prompt, ask nobody',
        description:
          'The exact prompt and pack digest that /v1/compute would send for this body. Asks no model, runs and counts nothing.',
        body: Type.Ref('PromptRequest'),
        response: { 200: Type.Ref('PromptAnswer'), ...problemsOf('read') },
      },
    },
    (http, reply) =>
      underDeadline(reply, deps, async ({ signal, told }) => {
        const read = await readBody(deps.stepReader.reader, check, http.body, signal);
        if (isProblem(read)) {
          return sendProblem(reply, told(read));
        }
        const body = read.envelope as PromptRequest;
        const asked = askedOf(body);
        if (isProblem(asked)) {
          return sendProblem(reply, asked);
        }
        const sources = sourcesOf(body.sources, read, deps.calls.tenantOf(http));
        if (isProblem(sources)) {
          return sendProblem(reply, sources);
        }
        const { schema: resultSchema } = asked.result;
        const schemaProblem = await resultSchemaProblem(deps.stepReader.checker, resultSchema, signal);
        if (schemaProblem !== null) {
          return sendProblem(reply, told(schemaProblem));
        }
        const prompt = promptFor(
          deps.pack,
          asked.instruction,
          asked.result,
          sources,
          deps.bounds.promptMaxBytes,
        );
        if (isProblem(prompt)) {
          return sendProblem(reply, prompt);
        }
        const { text, system, user, schema, packDigest } = prompt;
        return reply.send({ prompt: { text, system, user, schema }, prompt_pack_digest: packDigest });
      }),
  );
}
