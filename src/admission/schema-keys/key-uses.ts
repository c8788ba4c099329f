import type { JudgedSource } from '../judged-source.ts';
import { decodedString } from '../python-string.ts';
import { ancestorOf, type SyntaxNode, wrapped } from '../syntax-tree.ts';

/**
 * The texts of a source that stand anywhere but as `x["key"]` or as a key of a dictionary that is written out: in
 * `"key" in x`, `x.get("key")`, a list of names to go through. Any of them may be how the function finds out
 * whether a record has the field, or how it adds it.
 */
export function keysUsedOtherwise(nodes: readonly SyntaxNode[], source: string): ReadonlySet<string> {
  const used = new Set<string>();
  for (const node of nodes) {
    const isPart = node.parent?.type === 'concatenated_string';
    if ((node.type !== 'string' && node.type !== 'concatenated_string') || isPart) continue;
    const outer = wrapped(node);
    if (outer.field === 'key' && outer.parent?.type === 'pair') continue;
    if (outer.field === 'subscript' && outer.parent?.type === 'subscript') continue;
    const text = decodedString(node, source);
    if (text === null) continue;
    used.add(text);
    // "price discount".split()
    if (outer.parent?.type === 'attribute') for (const word of text.split(/[\s,;|]+/)) used.add(word);
  }
  return used;
}

/**
 * Whether the source may call `compute` itself, with other data than the sandbox does. A call under
 * `if __name__ == "__main__"` does not count.
 */
export function mayCallAgain(judged: JudgedSource): boolean {
  return judged.bound.loads.some(({ name, node }) => {
    if (name !== 'compute') return false;
    for (let at = ancestorOf(node, ['if_statement']); at !== null; at = ancestorOf(at, ['if_statement'])) {
      if (at.parent === judged.root && /^if\s*\(?\s*__name__\b/.test(at.text)) return false;
    }
    return true;
  });
}
