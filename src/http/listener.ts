import { lookup } from 'node:dns/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { boundStall } from './answer-stall.ts';
import type { HttpLimits } from './limits.ts';
import { closeUnsentAnswers, type UnsentAnswers } from './unsent-answers.ts';

/** What the framework and node are told of the limits when the listener is made. */
export function listenerOptions(limits: HttpLimits) {
  return {
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    // An answer may take as long as its deadline: what bounds a silent connection stands in `limitListener`.
    connectionTimeout: 0,
    http: {
      headersTimeout: limits.headersMs,
      connectionsCheckingInterval: limits.checkEveryMs,
      maxHeaderSize: limits.headerBytes,
      // Whatever NODE_OPTIONS says: a lenient parser lets two servers see two requests in the same bytes.
      insecureHTTPParser: false,
      // Checked by the application, whose answer is a problem and says what is wrong.
      requireHostHeader: false,
    },
  };
}

/** What can only be told to the listener once it is there. Returns the counts of a connection's answers. */
export function limitListener(app: FastifyInstance, limits: HttpLimits): UnsentAnswers {
  const server: Server & { httpAllowHalfOpen?: boolean } = app.server;
  // Not by number: past a number node drops further fields silently, and the authorization may be among them.
  server.maxHeadersCount = 0;
  const unsent = closeUnsentAnswers(server);
  // A client may end its sending side and wait; whether it does is found out while it waits.
  server.httpAllowHalfOpen = true;
  // The 100 is sent when the body is wanted; a refusal comes without the body being sent first.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
  // An expectation that is not known may be passed over (RFC 9110, 10.1.1); node would answer 417 without a problem.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
  app.addHook('preParsing', async (http, reply, payload) => {
    // Interim answers are of HTTP/1.1 (RFC 9110, 10.1.1): an older client would take the 100 for its answer.
    if (http.headers.expect?.toLowerCase() === '100-continue' && http.raw.httpVersion !== '1.0') {
      reply.raw.writeContinue();
    }
    return payload;
  });
  // A client that takes nothing would hold its answer, its place and its bytes for ever.
  app.addHook('onSend', async (_http, reply) => boundStall(reply.raw, limits.answerStallMs));
  return unsent;
}

/**
 * Listens on one address, and answers its URL. Asked for `localhost`, the framework would make a second server for the
 * other family, of which no limit and no stopping knows.
 */
export async function listenOn(app: FastifyInstance, host: string, port: number): Promise<string> {
  const { address } = await lookup(host);
  return app.listen({ host: address, port });
}
