import { merged, replaceRanges, secretMark } from '@flotilla/protocol/secret-text/scrub'
import type { Range } from '@flotilla/protocol/secret-text/scrub'
import type { SnapshotNode } from './format-snapshot.ts'

type Find = (text: string) => readonly Range[]
type Element = Exclude<SnapshotNode, string>

/** One text of the tree, and the ranges in it that contain a secret. */
interface Cell {
  readonly text: string
  readonly found: Range[]
}

/**
 * Removes secrets from the tree, also a secret that a page splits over elements, such as `top` and `secret`.
 * Consecutive texts are searched as one text, once with the names of elements among them and once without. Pure.
 */
export function scrubNodes(nodes: readonly SnapshotNode[], find: Find): readonly SnapshotNode[] {
  const texts: Cell[] = []
  const all: Cell[] = []
  const cell = (text: string | undefined, isName = false): Cell | undefined => {
    if (text === undefined) return undefined
    const made: Cell = { text, found: [] }
    all.push(made)
    if (!isName) texts.push(made)
    return made
  }
  const rebuilt = nodes.map((node) => take(node, cell))
  for (const cells of [texts, all]) search(cells, find)
  return rebuilt.map((rebuild) => rebuild())
}

type MakeCell = (text: string | undefined, isName?: boolean) => Cell | undefined

/** Collects the texts of a node in order; the returned function rebuilds the node once all texts were searched. */
function take(node: SnapshotNode, cell: MakeCell): () => SnapshotNode {
  if (typeof node === 'string') {
    const own = cell(node)
    return () => cleaned(own) ?? ''
  }
  const [name, text] = [cell(node.name, true), cell(node.text)]
  const children = node.children.map((child) => take(child, cell))
  return (): Element => ({
    ...node,
    ...(name === undefined ? {} : { name: cleaned(name) ?? '' }),
    ...(text === undefined ? {} : { text: cleaned(text) ?? '' }),
    children: children.map((rebuild) => rebuild()),
  })
}

function cleaned(cell: Cell | undefined): string | undefined {
  return cell && replaceRanges(cell.text, merged(cell.found), secretMark)
}

function search(cells: readonly Cell[], find: Find): void {
  const separator = '\n'
  const found = find(cells.map(({ text }) => text).join(separator))
  let next = 0
  let start = 0
  for (const { text, found: own } of cells) {
    const end = start + text.length
    while (next < found.length && (found[next]?.to ?? 0) <= start) next += 1
    for (let at = next; at < found.length; at += 1) {
      const { from, to } = found[at] ?? { from: end, to: end }
      if (from >= end) break
      const part = { from: Math.max(from, start) - start, to: Math.min(to, end) - start }
      if (part.to > part.from) own.push(part)
    }
    start = end + separator.length
  }
}
