import type { AnyNode } from 'acorn'

/** A node with the way down to it: `parent` holds it under `key`. */
export interface Visit {
  readonly node: AnyNode
  readonly parent: AnyNode | null
  readonly key: string
}

/** Every node of a tree with its parent, outermost first. The tree of a source of bounded length is bounded too. */
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
