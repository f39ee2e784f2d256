import type { Frame, Page } from 'playwright-core'
import type { Secrets } from '../tabs/secrets.ts'
import { ActionProblem } from './action-problem.ts'
import { closedRootStyle, findClosedEchoes } from './closed-roots.ts'
import type { ClosedEchoes } from './closed-roots.ts'

const highlightName = 'flotilla-echo'
/** Marks elements that show a secret outside of text: `shown` for fields, `around` for images and pseudo-elements. */
const marks = { shown: 'data-flotilla-echo', around: 'data-flotilla-echo-around' } as const
const attemptsMax = 3
/** The maximum number of texts and elements of one frame. */
const cellsMax = 100_000
const charsMax = 4_000_000

const hidden = `color: transparent !important; -webkit-text-fill-color: transparent !important;
  text-shadow: none !important; background: #777 !important;`

/** In pictures, the marked text is covered by a plain box. */
export const echoStyle = `
::highlight(${highlightName}) { color: transparent; -webkit-text-fill-color: transparent; text-shadow: none; background-color: #777; }
[${marks.shown}] { ${hidden} fill: transparent !important; stroke: transparent !important; caret-color: transparent !important; }
[${marks.shown}]::placeholder { ${hidden} }
[${marks.around}]::before, [${marks.around}]::after { ${hidden} }
[${marks.around}] { background-image: none !important; }
img[${marks.around}], video[${marks.around}], object[${marks.around}], embed[${marks.around}], canvas[${marks.around}],
image[${marks.around}] { opacity: 0 !important; }
${closedRootStyle}
`

/**
 * Takes a picture of a page while every visible copy of a typed secret is hidden, in any element. This process
 * searches the texts of all frames, so that no page gets a secret, and hides matches by position. It searches again
 * after the picture, because the page may have changed. Drawn content (canvas, video, a picture without the value in
 * its address) is not searched. Rejects with `not-possible` or `too-large` if a copy cannot be hidden.
 */
export async function withoutEchoes<T>(page: Page, secrets: Secrets, take: () => Promise<T>): Promise<T> {
  if (!secrets.any) return take()
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const before = await scan(page, secrets)
    const closed = await findClosedEchoes(page, secrets)
    try {
      await closed.hide()
      await Promise.all(before.map(({ frame, echoes }) => frame.evaluate(hideScript(echoes))))
      const taken = await take()
      if ((await isAllHidden(await scan(page, secrets))) && (await isSame(page, secrets, closed)))
        return taken
    } finally {
      await closed.show()
      await Promise.all(before.map(({ frame }) => frame.evaluate(showScript).catch(() => undefined)))
    }
  }
  throw new ActionProblem(
    'not-possible',
    'The page shows a credential and changes all the time, so no picture of it was taken. Use snapshot.',
  )
}

/** Whether the same closed shadow roots show secrets as before the picture. */
async function isSame(page: Page, secrets: Secrets, before: ClosedEchoes): Promise<boolean> {
  const after = await findClosedEchoes(page, secrets)
  await after.close()
  return after.mark === before.mark
}

/** Where a frame shows secrets: characters of its texts, and its elements by number. */
interface Echoes {
  readonly texts: readonly (readonly [index: number, from: number, to: number])[]
  readonly elements: readonly number[]
}

interface ScannedFrame {
  readonly frame: Frame
  readonly echoes: Echoes
}

async function scan(page: Page, secrets: Secrets): Promise<readonly ScannedFrame[]> {
  const scanned = await Promise.all(page.frames().map((frame) => scanFrame(frame, secrets)))
  return scanned.flatMap((one) => one ?? [])
}

async function scanFrame(frame: Frame, secrets: Secrets): Promise<ScannedFrame | null> {
  try {
    const collected: unknown = await frame.evaluate(collectScript)
    return { frame, echoes: echoesIn(asCollected(collected), secrets) }
  } catch (error) {
    if (frame.isDetached()) return null
    throw error
  }
}

async function isAllHidden(frames: readonly ScannedFrame[]): Promise<boolean> {
  const hidden: unknown[] = await Promise.all(
    frames.map(({ frame, echoes }) => frame.evaluate(isHiddenScript(echoes))),
  )
  return hidden.every((one) => one === true)
}

interface Collected {
  readonly texts: readonly string[]
  readonly elements: readonly string[]
}

/** Validates the result of a script that ran in the page, because the page may have changed it. */
function asCollected(collected: unknown): Collected {
  const listOf = (name: string): readonly string[] => {
    const found: unknown =
      typeof collected === 'object' && collected !== null ? Reflect.get(collected, name) : undefined
    if (Array.isArray(found) && found.every((text) => typeof text === 'string')) return found
    throw new ActionProblem(
      'too-large',
      'The page is too large to be searched for a credential that it may show, so no picture of it was taken. Use snapshot.',
    )
  }
  return { texts: listOf('texts'), elements: listOf('elements') }
}

function echoesIn({ texts, elements }: Collected, secrets: Secrets): Echoes {
  const found = secrets.find(texts.join('\n'))
  const inTexts: [number, number, number][] = []
  let start = 0
  let next = 0
  for (const [index, text] of texts.entries()) {
    const end = start + text.length
    while (next < found.length && (found[next]?.to ?? 0) <= start) next += 1
    for (let at = next; (found[at]?.from ?? end) < end; at += 1) {
      const { from, to } = found[at] ?? { from: end, to: end }
      inTexts.push([index, Math.max(from, start) - start, Math.min(to, end) - start])
    }
    start = end + 1
  }
  const shown = elements.flatMap((text, index) => (secrets.find(text).length > 0 ? [index] : []))
  return { texts: inTexts, elements: shown }
}

/** The properties in which a page's script keeps the search results and the marks for the next script. */
const kept = {
  found: "self[Symbol.for('flotilla.echoes')]",
  marked: "self[Symbol.for('flotilla.echo-marks')]",
  hidden: "self[Symbol.for('flotilla.echoes-hidden')]",
}

/** Collects the texts in order and the visible attributes of each element. Scripts and styles are not visible. */
const collectScript = `(() => {
  const found = { nodes: [], elements: [], told: { texts: [], elements: [] } }
  let cells = 0
  let chars = 0
  const add = (list, told, node, text) => {
    if (!/\\S/.test(text)) return
    cells += 1
    chars += text.length
    list.push(node)
    told.push(text)
  }
  const valueOf = (node) => {
    const own = [...node.attributes].filter(({ name }) => name !== 'class').map(({ value }) => value.slice(0, 20000))
    if (node.type !== 'password' && typeof node.value === 'string') own.push(node.value)
    if (node.localName === 'select') own.push(...[...node.selectedOptions].map((option) => option.label))
    return own.join('\\n')
  }
  const walk = (root) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      if (cells > ${cellsMax} || chars > ${charsMax}) return
      if (node.nodeType === Node.TEXT_NODE) {
        if (!['script', 'style', 'noscript'].includes(node.parentElement?.localName))
          add(found.nodes, found.told.texts, node, node.data)
        continue
      }
      add(found.elements, found.told.elements, node, valueOf(node))
      if (node.shadowRoot) walk(node.shadowRoot)
    }
  }
  walk(document)
  ${kept.found} = found
  return cells > ${cellsMax} || chars > ${charsMax} ? null : found.told
})()`

function hideScript(echoes: Echoes): string {
  return `(() => {
  const found = ${kept.found}
  const { texts, elements } = ${JSON.stringify(echoes)}
  const highlight = new Highlight()
  const marked = (${kept.marked} = [])
  const hidden = (${kept.hidden} = new Map())
  const mark = (node, name) => {
    node.setAttribute(name, '')
    marked.push([node, name])
  }
  for (const [index, from, to] of texts) {
    const node = found.nodes[index]
    const range = document.createRange()
    range.setStart(node, Math.min(from, node.data.length))
    range.setEnd(node, Math.min(to, node.data.length))
    highlight.add(range)
    hidden.set(node, (hidden.get(node) ?? '') + from + '-' + to + ' ')
    if (node.parentElement?.ownerSVGElement) mark(node.parentElement, '${marks.shown}')
  }
  CSS.highlights.set('${highlightName}', highlight)
  for (const index of elements) {
    const node = found.elements[index]
    hidden.set(node, 'whole')
    const isField = ['input', 'textarea', 'select', 'option', 'button', 'meter', 'progress'].includes(node.localName)
    mark(node, isField ? '${marks.shown}' : '${marks.around}')
  }
  })()`
}

/** Returns true if the last search found only secrets that are hidden. */
function isHiddenScript(echoes: Echoes): string {
  return `(() => {
  const found = ${kept.found}
  const { texts, elements } = ${JSON.stringify(echoes)}
  const hidden = ${kept.hidden} ?? new Map()
  const wanted = new Map(elements.map((index) => [found.elements[index], 'whole']))
  for (const [index, from, to] of texts) {
    const node = found.nodes[index]
    wanted.set(node, (wanted.get(node) ?? '') + from + '-' + to + ' ')
  }
  return [...wanted].every(([node, where]) => hidden.get(node) === where)
  })()`
}

const showScript = `(() => {
  CSS.highlights.delete('${highlightName}')
  for (const [node, name] of ${kept.marked} ?? []) node.removeAttribute(name)
})()`
