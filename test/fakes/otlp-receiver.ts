import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** One export as it came in, byte for byte. */
export interface OtlpExport {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A span with what tests look at. */
export interface ReceivedSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly status: { readonly code?: number; readonly message?: string };
  readonly events: readonly unknown[];
}

export interface OtlpReceiver {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint: string;
  readonly exports: readonly OtlpExport[];
  spans(): ReceivedSpan[];
  /** Attributes of the resource in the first export. */
  resource(): Record<string, unknown>;
  close(): Promise<void>;
}

interface WireAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface WireSpan extends Omit<ReceivedSpan, 'attributes' | 'startNs' | 'endNs' | 'events'> {
  readonly attributes: readonly WireAttribute[];
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly events?: readonly unknown[];
}

interface WireTraces {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly WireAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
  }[];
}

/** A receiver of OTLP over HTTP in JSON on a free port; takes everything unless `answer` does something else. */
export async function startOtlpReceiver(
  answer: (response: ServerResponse, index: number) => void = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  },
): Promise<OtlpReceiver> {
  const exports: OtlpExport[] = [];
  const sockets = new Set<Socket>();
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) {
      chunks.push(chunk as Buffer);
    }
    exports.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) });
    answer(response, exports.length - 1);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const traces = () => exports.map(({ body }) => JSON.parse(body.toString()) as WireTraces);
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    exports,
    spans: () =>
      traces().flatMap(({ resourceSpans }) =>
        resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans.map(received))),
      ),
    resource: () => attributesOf(traces()[0]?.resourceSpans[0]?.resource.attributes ?? []),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) {
          socket.destroy();
        }
      }),
  };
}

function received(span: WireSpan): ReceivedSpan {
  return {
    ...span,
    attributes: attributesOf(span.attributes),
    startNs: BigInt(span.startTimeUnixNano),
    endNs: BigInt(span.endTimeUnixNano),
    events: span.events ?? [],
  };
}

function attributesOf(attributes: readonly WireAttribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
