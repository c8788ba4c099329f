import { Webhook } from 'standardwebhooks';

/**
 * The Standard Webhooks headers of one request: HMAC-SHA256 over `id.timestamp.body`. The timestamp is that of
 * this try; the id stays the same over retries, so that a receiver can tell a repeated delivery.
 */
export function signatureHeaders(
  secret: string,
  id: string,
  sentAt: Date,
  body: string,
): Readonly<Record<string, string>> {
  return {
    'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, sentAt, body),
  };
}

/** What is wrong with a signing secret, or null: base64 of at least 16 bytes, `whsec_` before it or not. */
export function signingSecretFault(secret: string): string | null {
  const encoded = secret.replace(/^whsec_/, '');
  const bytes = Buffer.from(encoded, 'base64');
  const exact = bytes.toString('base64') === encoded;
  return exact && bytes.byteLength >= 16 && bytes.byteLength <= 1024
    ? null
    : 'must be base64 of random bytes (24 to 64 are usual), as `whsec_<base64>`';
}
