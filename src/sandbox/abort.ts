/** Whether a signal was aborted by a deadline (`AbortSignal.timeout`, reason `TimeoutError`) or by a caller who left. */
export function abortedByDeadline(signal: AbortSignal): boolean {
  const reason: unknown = signal.reason;
  return reason instanceof Error && reason.name === 'TimeoutError';
}
