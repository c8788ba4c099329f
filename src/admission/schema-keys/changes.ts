import type { JsonObject } from '../../contract/result-type.ts';
import { useOf } from '../node-places.ts';
import { decodedString } from '../python-string.ts';
import type { ScopedName } from '../scope.ts';
import { argumentsOf, childOf, partsOf, type SyntaxNode, unwrapped } from '../syntax-tree.ts';
import type { Flow } from './flow.ts';
import type { Flowing } from './flowing.ts';
import { isFresh, rootOf } from './fresh-values.ts';
import { namesIn } from './place.ts';

/** What a source may add to the data while it runs. */
export interface Changes {
  /** Places with fields or elements of the source's own: nothing is sure of them and what is below. */
  readonly opened: ReadonlySet<JsonObject>;
  /** Keys that it may store into something that is not known. */
  readonly keys: ReadonlySet<string>;
  /** Whether it stores keys that are not known into something that is not known: then nothing is sure. */
  readonly unbounded: boolean;
}

const DICT_ADDERS = new Set(['update', 'setdefault']);
const LIST_ADDERS = new Set(['append', 'appendleft', 'extend', 'extendleft', 'insert']);
const SCALARS = new Set(['false', 'float', 'integer', 'string', 'true']);
/** Functions that add to their first argument. */
const ADDING_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  heapq: ['heappush', 'heappushpop', 'heapreplace'],
  bisect: ['insort', 'insort_left', 'insort_right'],
  operator: ['iadd', 'iconcat', 'ior', 'setitem'],
};

/** Whether a subscript surely is a list's: no field gets a new name by it. */
function isPosition(key: SyntaxNode): boolean {
  if (key.type !== 'unary_operator') return key.type === 'integer' || key.type === 'slice';
  return partsOf(key)[0]?.type === 'integer';
}

/** Looks through a source for whatever may add a field or an element to the data, under whatever name it has. */
export function changesOf(nodes: readonly SyntaxNode[], shown: JsonObject, flow: Flow): Changes {
  const search = new ChangeSearch(flow);
  for (const node of nodes) search.visit(node);
  if (search.addsRecords) {
    search.literalKeys(flow.judged.root);
    for (const name of namesIn(shown)) search.keys.add(name);
  }
  return search;
}

class ChangeSearch implements Changes {
  readonly opened = new Set<JsonObject>();
  readonly keys = new Set<string>();
  unbounded = false;
  /** Whether records are put into something that is not known: those that the source writes out, or those of the data. */
  addsRecords = false;
  private readonly flow: Flow;
  private readonly augmentedNames = new Set<ScopedName>();

  constructor(flow: Flow) {
    this.flow = flow;
  }

  visit(node: SyntaxNode): void {
    const [object, key] = partsOf(node);
    if (node.type === 'augmented_assignment') this.augmented(node);
    else if (node.type === 'attribute' && object !== undefined && key !== undefined) {
      if (DICT_ADDERS.has(key.text)) this.dictMethod(node, object);
      else if (LIST_ADDERS.has(key.text)) this.listMethod(object);
    } else if (node.type === 'call') {
      const callee = childOf(node, 'function');
      const [first] = argumentsOf(node);
      if (callee !== null && first !== undefined && this.flow.judged.isSurely(callee, ADDING_MEMBERS))
        this.listMethod(first);
    } else if (node.type === 'subscript' && object !== undefined && useOf(node) === 'store') {
      if (this.isKnown(object)) return;
      // What stands in the place from then on may be the function's own: def tidy(o): o["user"] = {…}.
      this.addsRecords = true;
      const name = key === undefined ? null : decodedString(key, this.flow.judged.source.text);
      if (name !== null) this.keys.add(name);
      else if (key === undefined || !isPosition(key)) this.unbounded = true;
    }
  }

  /** A method that adds fields to its object, called or kept: `o.update(…)`, `add = o.update`. */
  private dictMethod(attribute: SyntaxNode, object: SyntaxNode): void {
    if (this.isKnown(object)) return;
    this.addsRecords = true;
    const call = attribute.field === 'function' ? attribute.parent : null;
    const given = call?.type === 'call' ? argumentsOf(call) : [];
    for (const each of given) this.literalKeys(each);
    const isPlain = (each: SyntaxNode) => each.type === 'dictionary' || each.type === 'keyword_argument';
    const key = attribute.children.at(-1)?.text === 'setdefault' ? given[0] : undefined;
    const isNamed = key !== undefined && decodedString(key, this.flow.judged.source.text) !== null;
    if (call === null || !(isNamed || given.every(isPlain))) this.unbounded = true;
  }

  private listMethod(object: SyntaxNode): void {
    // A list in a dictionary of the function's own gets records of the function's own.
    if (!this.isKnown(object) && !isFresh(rootOf(object), this.flow.judged)) this.addsRecords = true;
  }

  /** `x += …` and `x |= …` change what `x` holds, under all of its names. */
  private augmented(node: SyntaxNode): void {
    const [left, right] = partsOf(node);
    if (left === undefined || right === undefined) return;
    const name = left.type === 'identifier' ? this.flow.judged.soleName(left) : null;
    if (name !== null && !this.augmentedNames.has(name)) {
      this.augmentedNames.add(name);
      for (const { value } of name.bindings) if (value !== null) this.open(this.flow.of(value));
    }
    const [object, key] = left.type === 'subscript' ? partsOf(left) : [];
    // A field that is not there cannot be augmented, so what changes is the value of one that is.
    if (object !== undefined && key !== undefined) {
      const isNamed = decodedString(key, this.flow.judged.source.text) !== null;
      this.open(isNamed ? this.flow.of(left) : this.flow.of(object));
    }
    const added = unwrapped(right);
    if (node.children.some(({ type }) => type === '+=')) {
      const isRecord = !SCALARS.has(added.type) && !isFresh(rootOf(left), this.flow.judged);
      this.addsRecords ||= isRecord;
    } else if (node.children.some(({ type }) => type === '|=')) {
      if (isFresh(left, this.flow.judged) || SCALARS.has(added.type)) return;
      this.literalKeys(added);
      this.unbounded ||= added.type !== 'dictionary';
    }
  }

  /** Whether the flow or a fresh name tells what is changed; places of the data are opened. */
  private isKnown(object: SyntaxNode): boolean {
    const value = this.flow.of(object);
    this.open(value);
    return value !== null || isFresh(object, this.flow.judged);
  }

  private open(value: Flowing | null): void {
    if (value === null) return;
    if (value.kind === 'place') this.opened.add(value.place.schema);
    else if (value.kind === 'list') this.open(value.element);
    else if (value.kind === 'map') this.open(value.value);
    else for (const item of value.items) this.open(item);
  }

  /** The keys of dictionaries that are written out in an expression, and of keyword arguments. */
  literalKeys(expression: SyntaxNode): void {
    const waiting = [expression];
    for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
      const key = node.type === 'pair' ? childOf(node, 'key') : null;
      const name = key === null ? null : decodedString(key, this.flow.judged.source.text);
      if (name !== null) this.keys.add(name);
      const keyword = node.type === 'keyword_argument' ? childOf(node, 'name') : null;
      if (keyword !== null) this.keys.add(keyword.text);
      waiting.push(...node.children);
    }
  }
}
