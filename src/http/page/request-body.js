/**
 * What the form asks. Sources are texts, so that no digit of them is read here; `resultSchema` is the text of a JSON
 * object, or empty.
 * @typedef {object} Ask
 * @property {string} instruction
 * @property {string} resultType
 * @property {boolean} nullable
 * @property {string} resultSchema
 * @property {readonly { readonly name: string, readonly keys: string, readonly text: string }[]} sources
 * @property {{ readonly url: string, readonly format: string, readonly name: string, readonly authorization: string } | null} model
 * @property {boolean} detail
 */

/**
 * The body of `/v1/compute`, `/v1/compute/draft` and `/v1/compute/prompt`.
 * @param {Ask} ask
 */
export function stepBody(ask) {
  return objectOf({
    step: JSON.stringify(ask.instruction),
    ...resultMembers(ask),
    model: ask.model === null ? null : modelMember(ask.model),
    include: JSON.stringify(ask.detail ? ['code', 'detail'] : ['code']),
  });
}

/**
 * The body of `/v1/compute/run`. With the digest that was shown as admitted, nothing else can run.
 * @param {Ask} ask
 * @param {string} code
 * @param {string} codeSha256
 */
export function runBody(ask, code, codeSha256) {
  return objectOf({
    code: JSON.stringify(code),
    expect_code_sha256: JSON.stringify(codeSha256),
    ...resultMembers(ask),
    include: JSON.stringify(ask.detail ? ['code', 'detail'] : ['code']),
  });
}

/** @param {Ask} ask */
function resultMembers({ resultType, nullable, resultSchema, sources }) {
  return {
    result_type: JSON.stringify(resultType),
    nullable: nullable ? 'true' : null,
    result_schema: resultSchema === '' ? null : resultSchema,
    sources: JSON.stringify(
      sources.map(({ name, keys, text }) => ({
        ...(name === '' ? {} : { name }),
        ...(keys === 'auto' ? {} : { keys }),
        result_json: text,
      })),
    ),
  };
}

/** @param {NonNullable<Ask['model']>} model */
function modelMember({ url, format, name, authorization }) {
  return JSON.stringify({
    url,
    format,
    ...(name === '' ? {} : { name }),
    ...(authorization === '' ? {} : { headers: { authorization } }),
  });
}

/**
 * An object of members that are JSON texts already; null leaves one out.
 * @param {Readonly<Record<string, string | null>>} members
 */
function objectOf(members) {
  const given = Object.entries(members).filter(([, text]) => text !== null);
  return `{${given.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}
