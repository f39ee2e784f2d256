import { browserLimits } from '@flotilla/protocol/browser-service-api'

/** One node of an accessibility tree, or text between nodes. */
export type SnapshotNode =
  | string
  | {
      readonly role: string
      readonly name?: string
      /** The text content, if the node has no other children. */
      readonly text?: string
      /** Playwright's reference of the element. */
      readonly ref?: string
      readonly url?: string
      readonly placeholder?: string
      readonly states: readonly string[]
      readonly children: readonly SnapshotNode[]
    }

export interface FormattedSnapshot {
  readonly text: string
  readonly elements: number
  /** A description of the omitted part; empty if nothing was omitted. */
  readonly leftOut: string
}

const wordsMaxChars = 500
const addressMaxChars = 300
const { snapshotElementsMax, snapshotDepthMax, snapshotMaxChars } = browserLimits

/**
 * One line for each node, indented by its depth: `- button "Send" [e3]`. A node without name, text or function is
 * skipped, and its children take its place. Pure except for `give`, which is called in the order of the lines.
 */
export function formatSnapshot(
  nodes: readonly SnapshotNode[],
  deps: {
    readonly give: (inner: string) => string
    readonly isHidden: (inner: string) => boolean
    readonly clean: (text: string) => string
  },
): FormattedSnapshot {
  const lines: string[] = []
  const lost = { elements: 0, depth: 0, chars: 0 }
  let elements = 0
  let chars = 0

  function put(line: string, depth: number): boolean {
    const whole = `${'  '.repeat(depth)}- ${line}`
    if (chars + whole.length + 1 > snapshotMaxChars) {
      lost.chars += 1
      return false
    }
    chars += whole.length + 1
    lines.push(whole)
    return true
  }

  function walk(node: SnapshotNode, depth: number): void {
    if (depth > snapshotDepthMax) {
      lost.depth += 1
      return
    }
    if (typeof node === 'string') {
      const text = shorten(deps.clean(node), wordsMaxChars)
      if (text !== '') put(`text: ${quoted(text)}`, depth)
      return
    }
    const isPlain = node.role === 'generic' && node.text === undefined && node.name === undefined
    if (isPlain) {
      for (const child of node.children) walk(child, depth)
      return
    }
    if (node.ref !== undefined && elements >= snapshotElementsMax) {
      lost.elements += 1
      for (const child of node.children) walk(child, depth + 1)
      return
    }
    if (lost.chars > 0) {
      lost.chars += 1
      return
    }
    const isGiven = put(describe(node), depth)
    if (isGiven && node.ref !== undefined) elements += 1
    for (const child of node.children) walk(child, depth + 1)
  }

  function describe(node: Exclude<SnapshotNode, string>): string {
    const name = node.name === undefined ? '' : ` ${quoted(shorten(deps.clean(node.name), wordsMaxChars))}`
    const ref = node.ref === undefined ? '' : ` [${deps.give(node.ref)}]`
    const states = node.states.map((state) => ` [${shorten(deps.clean(state), 40)}]`).join('')
    const address = node.url === undefined ? '' : ` -> ${shorten(deps.clean(node.url), addressMaxChars)}`
    const wanted =
      node.placeholder === undefined ? '' : ` (${quoted(shorten(deps.clean(node.placeholder), 100))})`
    const isHidden = node.ref !== undefined && deps.isHidden(node.ref)
    const inside = isHidden
      ? '[hidden]'
      : node.text === undefined
        ? null
        : quoted(shorten(deps.clean(node.text), wordsMaxChars))
    return `${shorten(deps.clean(node.role), 40)}${name}${ref}${states}${wanted}${address}${inside === null ? '' : `: ${inside}`}`
  }

  for (const node of nodes) walk(node, 0)
  return { text: lines.join('\n'), elements, leftOut: leftOutWords(lost) }
}

function leftOutWords(lost: {
  readonly elements: number
  readonly depth: number
  readonly chars: number
}): string {
  const parts = [
    lost.elements > 0 ? `${lost.elements} elements after the first ${snapshotElementsMax}` : '',
    lost.depth > 0 ? `what lies deeper than ${snapshotDepthMax} levels` : '',
    lost.chars > 0 ? `what goes beyond ${snapshotMaxChars} characters` : '',
  ].filter((part) => part !== '')
  return parts.length === 0
    ? ''
    : `Left out: ${parts.join('; ')}. Scroll, look for words with find_text, or take a snapshot of one frame.`
}

function shorten(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}…`
}

/** Puts text of the page on one line, so that a page cannot add lines to the snapshot. */
function quoted(text: string): string {
  return JSON.stringify(text)
}
