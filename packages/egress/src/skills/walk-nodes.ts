import type { AnyNode } from 'acorn'

/** A node with its position in the tree: `parent` has it under `key`. */
export interface Visit {
  readonly node: AnyNode
  readonly parent: AnyNode | null
  readonly key: string
}

/** Yields every node with its parent, parents first. A source of bounded length has a tree of bounded size. */
export function* walkNodes(root: AnyNode): Generator<Visit> {
  const waiting: Visit[] = [{ node: root, parent: null, key: '' }]
  for (let visit = waiting.pop(); visit; visit = waiting.pop()) {
    yield visit
    waiting.push(...childrenOf(visit.node).toReversed())
  }
}

function childrenOf(node: AnyNode): Visit[] {
  return Object.entries(node).flatMap(([key, value]: [string, unknown]) =>
    (Array.isArray(value) ? value : [value])
      .filter(isNode)
      .map((child) => ({ node: child, parent: node, key })),
  )
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === 'object' && value !== null && 'type' in value
}
