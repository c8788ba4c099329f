import { schemaKeys } from '../schema-keys/schema-keys.ts';
import { annotationOnly } from './annotation-only.ts';
import { attributeNames } from './attribute-names.ts';
import { attributeStores } from './attribute-stores.ts';
import { boundNames } from './bound-names.ts';
import { characters } from './characters.ts';
import { classBases } from './class-bases.ts';
import { classPatterns } from './class-patterns.ts';
import { codingCookie } from './coding-cookie.ts';
import { compileErrors } from './compile-errors.ts';
import { computeFunction } from './compute-function.ts';
import { copyCalls } from './copy-calls.ts';
import { dataclassFields } from './dataclass-fields.ts';
import { decorators } from './decorators.ts';
import { dunderNames } from './dunder-names.ts';
import { enumClasses } from './enum-classes.ts';
import { formatStrings } from './format-strings.ts';
import { identifiers } from './identifiers.ts';
import { imports } from './imports.ts';
import { indentation } from './indentation.ts';
import { literals } from './literals.ts';
import { metaclasses } from './metaclasses.ts';
import { moduleMembers } from './module-members.ts';
import { moduleValues } from './module-values.ts';
import { nodeTypes } from './node-types.ts';
import { parseFaults } from './parse-faults.ts';
import { printCalls } from './print-calls.ts';
import { refusedBindings } from './refused-bindings.ts';
import type { Rule, RuleText, TextRule } from './rule.ts';
import { sourceSize } from './source-size.ts';
import { specialMethods } from './special-methods.ts';
import { statementShape } from './statement-shape.ts';
import { stringEvaluators } from './string-evaluators.ts';
import { superCalls } from './super-calls.ts';
import { typeCalls } from './type-calls.ts';

/** Asked first, of the text. If one refuses, nothing is parsed. */
export const TEXT_RULES: readonly TextRule[] = [sourceSize, characters, codingCookie];

/** Asked of the parsed source. Of two refusals at one place the one of the earlier rule comes first. */
export const TREE_RULES: readonly Rule[] = [
  nodeTypes,
  identifiers,
  literals,
  statementShape,
  compileErrors,
  indentation,
  metaclasses,
  decorators,
  computeFunction,
  classBases,
  dataclassFields,
  enumClasses,
  imports,
  dunderNames,
  boundNames,
  refusedBindings,
  typeCalls,
  superCalls,
  printCalls,
  annotationOnly,
  stringEvaluators,
  moduleValues,
  moduleMembers,
  copyCalls,
  attributeNames,
  attributeStores,
  specialMethods,
  classPatterns,
  formatStrings,
];

/** Every rule as the docs show it, in the order in which they are asked. */
export function ruleTable(): readonly RuleText[] {
  return [...TEXT_RULES, parseFaults, ...TREE_RULES, schemaKeys].map(({ id, title, reason, hint }) => ({
    id,
    title,
    reason,
    hint,
  }));
}
