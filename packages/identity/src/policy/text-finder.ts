/** Returns which of the texts occur in a text, each once. */
export type FindTexts = (text: string) => ReadonlySet<string>

interface Node {
  readonly next: Map<number, Node>
  /** The node of the longest proper suffix that begins one of the texts; itself at the root. */
  suffix: Node
  /** The text that ends here, if any. */
  ends: string | null
  /** The nearest of the suffixes at which a text ends. */
  shorter: Node | null
}

/**
 * Creates the search for many texts at once, by the automaton of keywords (Aho and others, 1975): the work grows with the
 * searched text and the number of texts that occur, and not with the number of texts. Empty texts are never found. Pure.
 */
export function createTextFinder(texts: Iterable<string>): FindTexts {
  const root = newNode()
  for (const text of texts) insert(root, text)
  linkSuffixes(root)
  return (text) => {
    const found = new Set<string>()
    let node = root
    for (let at = 0; at < text.length; at += 1) {
      node = step(node, text.charCodeAt(at))
      if (node === root) continue
      // What is found at a node once was found at its suffixes as well.
      for (let end: Node | null = node; end !== null; end = end.shorter) {
        if (end.ends === null) continue
        if (found.has(end.ends)) break
        found.add(end.ends)
      }
    }
    return found
  }
}

function newNode(root?: Node): Node {
  const node = { next: new Map<number, Node>(), ends: null, shorter: null } as Omit<Node, 'suffix'> as Node
  node.suffix = root ?? node
  return node
}

function insert(root: Node, text: string): void {
  if (text === '') return
  let node = root
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    let next = node.next.get(unit)
    if (next === undefined) {
      next = newNode(root)
      node.next.set(unit, next)
    }
    node = next
  }
  node.ends = text
}

/** Links each node, from the root on, so that the suffixes of a node are linked before it. */
function linkSuffixes(root: Node): void {
  // Grows while it is read.
  const nodes = [root]
  for (const node of nodes) {
    for (const [unit, next] of node.next) {
      if (node !== root) next.suffix = step(node.suffix, unit)
      next.shorter = next.suffix.ends === null ? next.suffix.shorter : next.suffix
      nodes.push(next)
    }
  }
}

/** The node of the longest suffix of what was read that begins one of the texts. */
function step(from: Node, unit: number): Node {
  let node = from
  for (;;) {
    const next = node.next.get(unit)
    if (next !== undefined) return next
    if (node.suffix === node) return node
    node = node.suffix
  }
}
