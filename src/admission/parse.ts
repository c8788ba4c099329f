import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { Language, Parser, type TreeCursor } from 'web-tree-sitter';
import { type GrowingNode, liftSplats } from './splat-order.ts';
import type { SyntaxNode } from './syntax-tree.ts';

/**
 * How deep the tree may nest. CPython's own parser stops at 100 indents and 200 brackets; a chain of operators
 * nests once an operand. Past it the source is refused, so that the rules may walk the tree by recursion.
 */
export const MAX_TREE_DEPTH = 400;

/** Nodes of one source; ordinary code of 64 KiB has about 25,000. Past it the source is refused. */
export const MAX_TREE_NODES = 40_000;

/**
 * The processor time a parse may take: ordinary functions need 1 ms, the worst sources known of 64 KiB 150 ms.
 * Past it the source is refused, not waited for. Not wall time: a busy machine must not change a verdict.
 */
const PARSE_BUDGET_US = 400_000;

export type ParseFault = 'broken' | 'missing' | 'too_deep' | 'too_large' | 'too_slow' | 'stray_text';

/** The tree, or the first place where there is none. */
export type Parsed =
  | { readonly ok: true; readonly root: SyntaxNode }
  | { readonly ok: false; readonly fault: ParseFault; readonly offset: number };

/** Parses Python. Frees the parser's memory of one source before it answers. */
export interface PythonParser {
  parse(text: string): Parsed;
}

/** Types that hold text of their own between or instead of children. */
const TEXT_HOLDERS = new Set(['string_content', 'format_specifier', 'comment']);

/** Loads the grammar. Call it once a process: it reads two WebAssembly files. */
export async function createPythonParser(): Promise<PythonParser> {
  await Parser.init();
  const grammar = createRequire(import.meta.url).resolve('tree-sitter-python/tree-sitter-python.wasm');
  const language = await Language.load(await readFile(grammar));
  const names = Array.from({ length: language.nodeTypeCount }, (_, id) => ({
    type: language.nodeTypeForId(id) ?? '',
    named: language.nodeTypeIsNamed(id),
  }));
  const fields = Array.from({ length: language.fieldCount + 1 }, (_, id) =>
    id === 0 ? null : language.fieldNameForId(id),
  );
  const parser = new Parser();
  parser.setLanguage(language);
  const kindOf = (cursor: TreeCursor) => names[cursor.nodeTypeId] ?? { type: 'ERROR', named: true };
  const fieldOf = (cursor: TreeCursor) => fields[cursor.currentFieldId] ?? null;
  return {
    parse(text) {
      const before = process.cpuUsage();
      const progressCallback = () => {
        const { user, system } = process.cpuUsage(before);
        return user + system > PARSE_BUDGET_US;
      };
      const tree = parser.parse(text, null, { progressCallback });
      if (tree === null) {
        parser.reset();
        return { ok: false, fault: 'too_slow', offset: 0 };
      }
      const cursor = tree.walk();
      try {
        if (tree.rootNode.hasError) return firstError(cursor);
        return copyTree(text, cursor, kindOf, fieldOf);
      } finally {
        cursor.delete();
        tree.delete();
      }
    },
  };
}

/** Descends to the first ERROR or MISSING node, so that the refusal can point at it. */
function firstError(cursor: TreeCursor): Parsed {
  for (;;) {
    const node = cursor.currentNode;
    if (node.isMissing) return { ok: false, fault: 'missing', offset: node.startIndex };
    if (!node.hasError && !node.isError) {
      if (!cursor.gotoNextSibling()) return { ok: false, fault: 'broken', offset: node.startIndex };
      continue;
    }
    // The outermost ERROR is where the parser lost its way; what it holds inside are guesses.
    if (node.isError && cursor.currentDepth > 0)
      return { ok: false, fault: 'broken', offset: node.startIndex };
    if (!cursor.gotoFirstChild()) return { ok: false, fault: 'broken', offset: node.startIndex };
  }
}

/** Copies the tree under the cursor without recursion, and stops at the first fault. */
function copyTree(
  text: string,
  cursor: TreeCursor,
  kindOf: (cursor: TreeCursor) => { type: string; named: boolean },
  fieldOf: (cursor: TreeCursor) => string | null,
): Parsed {
  const splats: GrowingNode[] = [];
  let root: GrowingNode | null = null;
  let parent: GrowingNode | null = null;
  let depth = 0;
  let count = 0;
  // The end of the last token: what lies between two tokens may only be blanks.
  let covered = 0;
  for (;;) {
    const { type, named } = kindOf(cursor);
    const start = cursor.startIndex;
    const end = cursor.endIndex;
    count += 1;
    if (type === 'ERROR') return { ok: false, fault: 'broken', offset: start };
    if (start === end && cursor.nodeIsMissing) return { ok: false, fault: 'missing', offset: start };
    if (count > MAX_TREE_NODES) return { ok: false, fault: 'too_large', offset: start };
    const node: GrowingNode = {
      type,
      named,
      field: fieldOf(cursor),
      start,
      end,
      parent,
      children: [],
      text: text.slice(start, end),
    };
    if (type === 'list_splat') splats.push(node);
    if (root === null) root = node;
    else if (type !== 'comment' && type !== 'line_continuation') parent?.children.push(node);
    const holdsText = TEXT_HOLDERS.has(type);
    if (holdsText || (start < end && type !== 'module')) {
      const stray = firstStray(text, covered, start);
      if (stray !== -1) return { ok: false, fault: 'stray_text', offset: stray };
      covered = Math.max(covered, holdsText ? end : start);
    }
    if (cursor.gotoFirstChild()) {
      depth += 1;
      if (depth > MAX_TREE_DEPTH) return { ok: false, fault: 'too_deep', offset: start };
      parent = node;
      continue;
    }
    covered = Math.max(covered, end);
    while (!cursor.gotoNextSibling()) {
      if (!cursor.gotoParent()) {
        const stray = firstStray(text, covered, text.length);
        if (stray !== -1) return { ok: false, fault: 'stray_text', offset: stray };
        liftSplats(splats, text);
        return { ok: true, root };
      }
      depth -= 1;
      parent = (parent?.parent ?? null) as GrowingNode | null;
    }
  }
}

/** The first character from `from` to `to` that is no space, tab, newline or continued line end; -1 if none. */
function firstStray(text: string, from: number, to: number): number {
  for (let at = from; at < to; at += 1) {
    const code = text.charCodeAt(at);
    const isBlank = code === 32 || code === 10 || code === 9;
    // Between two texts the scanner takes a continued line end for a blank and makes no node of it.
    if (!isBlank && !(code === 92 && text.charCodeAt(at + 1) === 10)) return at;
  }
  return -1;
}
