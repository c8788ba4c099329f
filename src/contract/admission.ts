import { type Static, Type } from '@sinclair/typebox';

/** The closed set of rule ids: labels of metrics, headings of the docs. The rules themselves are in `admission/rules`. */
export const RULE_IDS = [
  'syntax',
  'structure',
  'import',
  'name',
  'attribute',
  'string',
  'schema-keys',
] as const;
export type RuleId = (typeof RULE_IDS)[number];

export const AdmissionRefusalSchema = Type.Object(
  {
    admitted: Type.Literal(false),
    rule_id: Type.Union(RULE_IDS.map((id) => Type.Literal(id))),
    rule: Type.String({ description: 'The rule and what it met, such as "import: socket".' }),
    line: Type.Integer({ minimum: 1, description: 'Line of the function, from 1.' }),
    column: Type.Integer({ minimum: 0, description: 'Column in that line, from 0, in Unicode code points.' }),
    message: Type.String(),
    hint: Type.String({ description: 'What to write instead.' }),
  },
  { additionalProperties: false },
);

export const AdmissionVerdictSchema = Type.Union([
  Type.Object({ admitted: Type.Literal(true) }, { additionalProperties: false }),
  AdmissionRefusalSchema,
]);

export type AdmissionRefusal = Static<typeof AdmissionRefusalSchema>;
export type AdmissionVerdict = Static<typeof AdmissionVerdictSchema>;
