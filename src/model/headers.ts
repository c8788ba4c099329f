/** What a caller may add to a webhook request, in number and size (name and value, bytes). */
const MAX_HEADERS = 32;
const MAX_HEADER_BYTES = 8 * 1024;
const MAX_TOTAL_BYTES = 16 * 1024;

/**
 * Headers that are the transport's or the service's: hop-by-hop fields (RFC 9110 section 7.6.1), those that
 * frame the message or name its host, those the service signs or traces with.
 */
const RESERVED = new Set([
  'accept-encoding',
  'baggage',
  'connection',
  'content-encoding',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'traceparent',
  'tracestate',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const RESERVED_PREFIXES = ['proxy-', 'webhook-'];

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/;
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Judges `headers` of a model's configuration. Answers them with lower-case names, or a fault that names the
 * header (never its value) and the fix; `field` is what the fault calls the whole, such as `model.headers`.
 * Refused: hop-by-hop and reserved names, line breaks and other controls, repeated names, too many or too much.
 */
export function readHeaders(
  headers: Readonly<Record<string, string>>,
  field: string,
): { readonly headers: Readonly<Record<string, string>> } | { readonly fault: string } {
  const read: [string, string][] = [];
  const seen = new Set<string>();
  let total = 0;
  const entries = Object.entries(headers);
  if (entries.length > MAX_HEADERS) return { fault: `${field}: at most ${MAX_HEADERS} headers` };
  for (const [given, value] of entries) {
    // A name that is no token is not repeated: a value may stand in its place.
    if (!TOKEN.test(given)) {
      return { fault: `${field}: a name is not a header name of at most 64 characters` };
    }
    const name = given.toLowerCase();
    if (name === 'content-type') {
      // Often copied along with a key; the body is always JSON, so only another type contradicts.
      if (/^\s*application\/json\s*(;\s*charset=utf-8\s*)?$/i.test(value)) continue;
      return { fault: `${field}.content-type: remove it; the body is always application/json` };
    }
    if (RESERVED.has(name) || RESERVED_PREFIXES.some((prefix) => name.startsWith(prefix))) {
      return { fault: `${field}.${name}: remove it; the service sets this header itself` };
    }
    if (seen.has(name)) return { fault: `${field}.${name}: give it once; names differ only in case` };
    if (!FIELD_VALUE.test(value)) {
      return { fault: `${field}.${name}: remove line breaks, controls and characters past Latin-1` };
    }
    const bytes = name.length + value.length;
    total += bytes;
    if (bytes > MAX_HEADER_BYTES || total > MAX_TOTAL_BYTES) {
      return {
        fault: `${field}.${name}: at most ${MAX_HEADER_BYTES} bytes a header, ${MAX_TOTAL_BYTES} in all`,
      };
    }
    seen.add(name);
    read.push([name, value]);
  }
  return { headers: Object.fromEntries(read) };
}
