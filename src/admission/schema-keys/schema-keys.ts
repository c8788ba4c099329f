import type { JsonObject } from '../../contract/result-type.ts';
import type { JudgedSource } from '../judged-source.ts';
import { useOf } from '../node-places.ts';
import { decodedString } from '../python-string.ts';
import type { Refuse, RuleText } from '../rules/rule.ts';
import { partsOf, type SyntaxNode, unwrapped } from '../syntax-tree.ts';
import { changesOf } from './changes.ts';
import { catchingStatements, isConditional, mayBeCaught } from './conditions.ts';
import { DataFlow } from './data-flow.ts';
import { keysUsedOtherwise, mayCallAgain } from './key-uses.ts';
import { isMisspelling, keyHint } from './near-names.ts';
import { closedNames, fieldOf, isDeclaredCut, namesIn } from './place.ts';

/** The most refusals of one source; further ones show once the first are put right. */
const MAX_REFUSED = 20;
/** The most names that unknown keys are compared with; past it the rest of the source is left alone. */
const MAX_COMPARED = 20_000;

/** The last rule, asked where a schema was shown to the model and every other rule admits. */
export interface SchemaRule extends RuleText {
  readonly check: (judged: JudgedSource, shown: JsonObject, refuse: Refuse) => void;
}

/**
 * Refuses `x["key"]` where `x` surely comes from `data` and the shown schema names all fields there, without this
 * one: such a function would run and end in KeyError. Reads field names only, which stand in the prompt.
 *
 * Only loads by subscript: `x.get("key")` is how a function reads a field that may be missing, and it does not
 * raise. A key is left alone everywhere if the source uses it in any other way that may be a test or a store.
 */
export const schemaKeys: SchemaRule = {
  id: 'schema-keys',
  title: 'Keys that the data does not have',
  reason:
    'A key that the schema shown to the model does not name would only fail in the sandbox; refused here the ' +
    'function can be repaired. Asked last, only of a function that a model wrote for that schema, and only where ' +
    'the schema names every field and the key is surely read.',
  hint: 'Use a field name as it stands in the schema of the data.',
  check(judged, shown, refuse) {
    const compute = judged.bound.module.names.get('compute')?.bindings[0]?.value ?? null;
    if (compute === null || mayCallAgain(judged)) return;
    if (isDeclaredCut(shown)) return;
    // A tool may declare a field that these data lack: a model that uses it follows the prompt.
    const declared = namesIn(shown.$defs);
    const nodes = allNodes(judged.root);
    const changes = changesOf(nodes, shown, new DataFlow(judged, compute, shown));
    if (changes.unbounded) return;
    const used = keysUsedOtherwise(nodes, judged.source.text);
    const catching = catchingStatements(nodes, judged);
    const flow = new DataFlow(judged, compute, shown, changes.opened);
    let refused = 0;
    let compared = 0;
    for (const node of subscriptsIn(nodes)) {
      const [object, index, more] = partsOf(node);
      if (object === undefined || index === undefined || more !== undefined) continue;
      if (!['load', 'change'].includes(useOf(node))) continue;
      const key = decodedString(index, judged.source.text);
      if (key === null || used.has(key) || changes.keys.has(key) || declared.has(key)) continue;
      const value = flow.of(object);
      if (value?.kind !== 'place' || fieldOf(value.place, key) !== null) continue;
      const names = closedNames(value.place);
      if (names === null || mayBeCaught(node, compute, catching)) continue;
      compared += names.length + used.size;
      if (compared > MAX_COMPARED || refused >= MAX_REFUSED) return;
      if (isConditional(node) && !isSurelyMisspelt(key, names, used)) continue;
      refused += 1;
      const where = value.place.path === '' ? 'data' : value.place.path;
      refuse(unwrapped(index), key, `${where} has no field of this name.`, keyHint(key, names));
    }
  },
};

/**
 * What stands under a condition may be meant for records of a kind that these data lack. So there a key must be a
 * misspelling of a name, and not of a text that the function tests for: `o["color"] if "color" in o else o["colour"]`.
 */
function isSurelyMisspelt(key: string, names: readonly string[], used: ReadonlySet<string>): boolean {
  const isLike = (name: string) => isMisspelling(key, name);
  return names.some(isLike) && ![...used].some(isLike);
}

function subscriptsIn(nodes: readonly SyntaxNode[]): readonly SyntaxNode[] {
  return nodes.filter(({ type }) => type === 'subscript').sort((one, other) => one.start - other.start);
}

/** Every node, in no certain order. */
function allNodes(root: SyntaxNode): readonly SyntaxNode[] {
  const all: SyntaxNode[] = [root];
  for (let next = 0; next < all.length; next += 1) all.push(...(all[next]?.children ?? []));
  return all;
}
