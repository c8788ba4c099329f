import { Type } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import { faultChecker } from '../../contract/faults.ts';
import { isProblem } from '../../contract/problem.ts';
import { type AdmitRequest, AdmitRequestSchema } from '../../contract/request.ts';
import { draftOf } from '../../model/reply.ts';
import type { RouteDeps } from '../deps.ts';
import { sendProblem } from '../errors.ts';
import { underDeadline } from '../hang-up.ts';
import { problemsOf } from '../openapi.ts';
import { readBody } from '../read-body.ts';

const check = faultChecker(AdmitRequestSchema);

/** `POST /v1/compute/admit`: the verdict of admission on a function. Runs and counts nothing. */
export function admitRoute(app: FastifyInstance, deps: RouteDeps): void {
  app.post<{ Querystring: { all?: 'true' | 'false' } }>(
    '/compute/admit',
    {
      schema: {
        operationId: 'admit',
        summary: 'Check a function',
        description:
          'The verdict of admission; with ?all=true every refusal, by line. Runs and counts nothing.',
        querystring: Type.Object(
          { all: Type.Optional(Type.Union([Type.Literal('true'), Type.Literal('false')])) },
          { additionalProperties: false },
        ),
        body: Type.Ref('AdmitRequest'),
        response: { 200: Type.Ref('AdmitAnswer'), ...problemsOf('read') },
      },
    },
    (http, reply) =>
      underDeadline(reply, deps, async ({ signal, told }) => {
        const read = await readBody(deps.stepReader.reader, check, http.body, signal);
        if (isProblem(read)) {
          return sendProblem(reply, told(read));
        }
        const draft = draftOf((read.envelope as AdmitRequest).code);
        const verdict = deps.admission.admit(draft);
        const admission = 'rule_id' in verdict ? verdict : { admitted: true };
        return reply.send({
          admission,
          code_sha256: 'rule_id' in verdict ? '' : verdict.sha256,
          ...(http.query.all === 'true' ? { refusals: deps.admission.all(draft) } : {}),
        });
      }),
  );
}
