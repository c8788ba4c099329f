/**
 * What a connection may take of the service. Not settings: they are wide for every ordinary client, and a request is
 * bounded by its own deadline, its tenant and the bytes in work besides.
 */
export interface HttpLimits {
  /** Connections at a time. At the bound the one that was longest without a request in work is closed. */
  readonly connections: number;
  /** Requests on one connection before their answers (pipelining). Past it the next is 503 and ends the connection. */
  readonly pipelined: number;
  /** Request line and header fields together, in bytes; past it 431. */
  readonly headerBytes: number;
  /** From the first byte, or from the connection, to the last header field; past it 408. */
  readonly headersMs: number;
  /** From the first byte of the head to the last of the body; past it 408. */
  readonly requestMs: number;
  /** Between two requests. Above the 60 s that load balancers keep theirs, so that they close first. */
  readonly keepAliveMs: number;
  /** How often the times above are looked at: each may be passed by as much. */
  readonly checkEveryMs: number;
  /** Without a byte of the answer taken by the client; the connection is closed then, after twice that at the latest. */
  readonly answerStallMs: number;
  /** Of a body whose answer is out already: read and thrown away up to here, so that the client gets to see it. */
  readonly discardBytes: number;
  readonly discardMs: number;
}

export const HTTP_LIMITS: HttpLimits = {
  connections: 2048,
  pipelined: 8,
  headerBytes: 16 * 1024,
  headersMs: 15_000,
  requestMs: 120_000,
  keepAliveMs: 72_000,
  checkEveryMs: 5000,
  answerStallMs: 30_000,
  discardBytes: 64 * 1024 * 1024,
  discardMs: 10_000,
};
