import { diffLines } from 'diff'

export interface DiffPiece {
  readonly kind: 'same' | 'added' | 'removed'
  readonly text: string
}

/** Maximum number of changes between two values; values that differ more are shown whole. */
const editsMax = 800
/** Number of unchanged lines beside each change. */
const contextLines = 3

/** Returns the changes between two values of a key, line by line. Pure. */
export function valueDiff(before: unknown, after: unknown): readonly DiffPiece[] {
  const [left, right] = [linesOf(before), linesOf(after)]
  const changes = diffLines(left, right, { maxEditLength: editsMax })
  if (changes === undefined) {
    return [
      { kind: 'removed', text: left },
      { kind: 'added', text: right },
    ]
  }
  return changes.map(({ added, removed, value }, index) => {
    if (added) return { kind: 'added', text: value }
    if (removed) return { kind: 'removed', text: value }
    return { kind: 'same', text: aroundChanges(value, index > 0, index < changes.length - 1) }
  })
}

/** Formats a value as lines: a text as its own lines, any other value as JSON. Pure. */
function linesOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  return text.endsWith('\n') ? text : `${text}\n`
}

/** Returns the parts of an unchanged stretch that are next to changes. Pure. */
function aroundChanges(text: string, follows: boolean, isFollowed: boolean): string {
  const lines = text.split('\n').slice(0, -1)
  if (!follows && !isFollowed) return text
  const head = follows ? contextLines : 0
  const tail = isFollowed ? contextLines : 0
  const left = lines.length - head - tail
  if (left <= 1) return text
  const summary = `… ${left} lines as they were`
  return [...lines.slice(0, head), summary, ...(tail === 0 ? [] : lines.slice(-tail)), ''].join('\n')
}
