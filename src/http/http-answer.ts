import type { FastifyReply } from 'fastify';

/** An answer as a value: it can be kept and sent again. Header names are in lower case. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends an answer, with further headers beside its own. */
export function sendAnswer(
  reply: FastifyReply,
  answer: HttpAnswer,
  more: Readonly<Record<string, string>> = {},
): FastifyReply {
  return reply
    .code(answer.status)
    .headers({ ...answer.headers, ...more })
    .send(answer.body);
}
