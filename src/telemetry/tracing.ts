import type { StepWatch } from '../step/watch.ts';

/** A request as its span names it: ids, a tenant, a method and the pattern of a route. */
export interface TracedRequest {
  readonly id: string;
  readonly tenant: string;
  readonly method: string;
  readonly route: string;
}

/** The span of one request, from when its caller is known until its answer is out and its step has ended. */
export interface RequestSpan {
  /** W3C `traceparent` of this span. */
  readonly traceparent: string;
  /** For the step of the request, if it comes to one: its phases become children of this span. */
  watch(): StepWatch;
  /** The answer is out, or the connection has closed; null: before a status was sent. */
  answered(status: number | null): void;
}

/** Traces as a port. Nothing in it waits, throws or fails a request. */
export interface Tracing {
  /** Begins a request's span, as a child of a valid `traceparent` or, for null, as the first of its trace. */
  begin(request: TracedRequest, traceparent: string | null): RequestSpan;
  /** Sends what is left, within a bound, and ends. */
  close(): Promise<void>;
}
