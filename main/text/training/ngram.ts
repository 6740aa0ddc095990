/**
 * An n-gram model with interpolated modified Kneser-Ney smoothing (Chen and Goodman, 1999), pruned by relative
 * entropy (Stolcke, 1998), as a trie that is written history first.
 */

export interface NGram {
  order: number;
  /** Node 0 is the empty history. Children of a node lie together, sorted by symbol (breadth first). */
  firstChild: Uint32Array;
  childCount: Uint32Array;
  symbol: Uint32Array;
  /** ln p(symbol | history) of each node, ln of the back-off weight of each node that is a history. */
  logProbability: Float64Array;
  logBackoff: Float64Array;
}

/** Symbols 0 and 1 are the start and the end of a word. */
export const startSymbol = 0;
export const endSymbol = 1;

interface Node {
  symbol: number;
  depth: number;
  children: Map<number, Node>;
  suffix: Node;
  parent: Node;
  count: number;
  probability: number;
  backoff: number;
  /** Longer n-grams whose suffix this is: it must stay while one of them does. */
  needed: number;
  dead: boolean;
}

export function trainNGram(words: readonly number[][], order: number, keepNodes: number): NGram {
  const root = makeNode(-1, 0);
  const levels: Node[][] = Array.from({ length: order + 1 }, () => []);
  levels[0] = [root];
  for (const word of words) {
    const padded = [startSymbol, ...word, endSymbol];
    for (let start = 0; start < padded.length; start++) {
      let node = root;
      for (let i = start; i < padded.length && i < start + order; i++) {
        let child = node.children.get(padded[i]!);
        if (!child) {
          child = makeNode(padded[i]!, node.depth + 1);
          child.parent = node;
          node.children.set(padded[i]!, child);
          levels[child.depth]!.push(child);
        }
        child.count++;
        node = child;
      }
    }
  }
  for (let depth = 1; depth <= order; depth++) {
    for (const node of levels[depth]!) {
      node.suffix = depth === 1 ? root : node.parent.suffix.children.get(node.symbol)!;
      node.suffix.needed++;
    }
  }
  continuationCounts(levels, order);
  estimate(levels, order);
  prune(levels, order, keepNodes);
  return flatten(root, order);
}

function makeNode(symbol: number, depth: number): Node {
  const node = {
    symbol,
    depth,
    children: new Map(),
    count: 0,
    probability: 0,
    backoff: 1,
    needed: 0,
    dead: false,
  } as unknown as Node;
  node.suffix = node;
  node.parent = node;
  return node;
}

/** Below the highest order an n-gram counts the different symbols before it, unless it begins a word. */
function continuationCounts(levels: Node[][], order: number): void {
  for (let depth = 1; depth < order; depth++) {
    for (const node of levels[depth]!) if (!beginsWord(node)) node.count = 0;
  }
  for (let depth = 2; depth <= order; depth++) {
    for (const node of levels[depth]!) if (!beginsWord(node.suffix)) node.suffix.count++;
  }
}

function beginsWord(node: Node): boolean {
  let at = node;
  while (at.depth > 1) at = at.parent;
  return at.symbol === startSymbol;
}

function estimate(levels: Node[][], order: number): void {
  for (let depth = 0; depth < order; depth++) {
    const seen = [0, 0, 0, 0, 0];
    for (const node of levels[depth + 1]!) if (node.count >= 1 && node.count <= 4) seen[node.count]!++;
    const [, n1 = 1, n2 = 1, n3 = 1, n4 = 1] = seen.map((n) => Math.max(1, n));
    const y = n1 / (n1 + 2 * n2);
    const discounts = [0, 1 - (2 * y * n2) / n1, 2 - (3 * y * n3) / n2, 3 - (4 * y * n4) / n3];
    const discount = (count: number) => Math.max(0.05, discounts[Math.min(3, count)]!);
    for (const node of levels[depth]!) {
      if (node.children.size === 0) continue;
      let total = 0;
      let left = 0;
      for (const child of node.children.values()) {
        if (depth === 0 && child.symbol === startSymbol) continue;
        total += child.count;
        left += Math.min(child.count, discount(child.count));
      }
      node.backoff = left / total;
      const uniform = 1 / Math.max(1, node.children.size - 1);
      for (const child of node.children.values()) {
        if (depth === 0 && child.symbol === startSymbol) {
          child.probability = 0;
          continue;
        }
        const lower = depth === 0 ? uniform : child.suffix.probability;
        child.probability = Math.max(0, child.count - discount(child.count)) / total + node.backoff * lower;
      }
      if (depth === 0) node.backoff = 1;
    }
  }
}

/** Drops the n-grams whose loss changes the distribution least, until `keepNodes` are left. */
function prune(levels: Node[][], order: number, keepNodes: number): void {
  let alive = levels.reduce((sum, level) => sum + level.length, 0);
  for (let threshold = 1e-9; alive > keepNodes; threshold *= 1.25) {
    for (let depth = order; depth >= 2; depth--) {
      const parents = new Set<Node>();
      for (const node of levels[depth]!) {
        if (node.dead || node.children.size > 0 || node.needed > 0) continue;
        if (lossOf(node) < threshold) {
          node.dead = true;
          node.suffix.needed--;
          parents.add(node.parent);
          alive--;
        }
      }
      for (const parent of parents) {
        for (const child of [...parent.children.values()])
          if (child.dead) parent.children.delete(child.symbol);
        parent.backoff = backoffOf(parent);
      }
      levels[depth] = levels[depth]!.filter((node) => !node.dead);
    }
  }
}

function backoffOf(history: Node): number {
  if (history.depth === 0) return 1;
  let seen = 0;
  let lower = 0;
  for (const child of history.children.values()) {
    seen += child.probability;
    lower += child.suffix.probability;
  }
  return Math.max(1e-6, 1 - seen) / Math.max(1e-6, 1 - lower);
}

/** Relative entropy that dropping one n-gram costs, weighted by how often its history comes. */
function lossOf(node: Node): number {
  const history = node.parent;
  let often = 1;
  for (let at = history; at.depth > 0; at = at.parent) if (at.symbol !== startSymbol) often *= at.probability;
  let seen = 0;
  let lower = 0;
  for (const child of history.children.values()) {
    seen += child.probability;
    lower += child.suffix.probability;
  }
  const rest = Math.max(1e-6, 1 - seen);
  const without = (rest + node.probability) / Math.max(1e-6, 1 - lower + node.suffix.probability);
  const change = Math.log(node.suffix.probability * without) - Math.log(node.probability);
  return -often * (node.probability * change + rest * Math.log(without / history.backoff));
}

function flatten(root: Node, order: number): NGram {
  const nodes: Node[] = [root];
  const firstChild: number[] = [];
  for (let i = 0; i < nodes.length; i++) {
    firstChild.push(nodes.length);
    nodes.push(...[...nodes[i]!.children.values()].sort((a, b) => a.symbol - b.symbol));
  }
  return {
    order,
    firstChild: Uint32Array.from(firstChild),
    childCount: Uint32Array.from(nodes, (node) => node.children.size),
    symbol: Uint32Array.from(nodes, (node) => Math.max(0, node.symbol)),
    logProbability: Float64Array.from(nodes, (node) => Math.log(Math.max(1e-9, node.probability))),
    logBackoff: Float64Array.from(nodes, (node) => Math.log(node.backoff)),
  };
}
