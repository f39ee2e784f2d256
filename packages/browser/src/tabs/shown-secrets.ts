import type { Frame, Page } from 'playwright-core'
import { findClosedEchoes } from '../actions/closed-roots.ts'
import type { Secrets } from './secrets.ts'

/** How much text of a page is searched for secrets, in characters. A search of it takes about 0.2 s. */
const textMaxChars = 300_000
/** The maximum number of frames of a page that are searched. */
const framesMax = 50
/** How long the text of a frame, and that of closed shadow roots, is waited for, in milliseconds. */
export const searchMaxMs = 1000

export interface ShownSecrets {
  /** The frames that show a typed secret; all frames of the page if a closed shadow root shows one. */
  readonly frames: readonly Frame[]
  /** False if the page has text that was not searched: too much of it, or it did not arrive in time. */
  readonly isWhole: boolean
}

/** Searches what a page shows and offers for copying with the check that removes secrets from all output. */
export async function findShownSecrets(
  page: Page,
  secrets: Secrets,
  maxMs = searchMaxMs,
): Promise<ShownSecrets> {
  const all = page.frames()
  const read = await Promise.all(
    all.slice(0, framesMax).map(async (frame) => [frame, await textOf(frame, maxMs)] as const),
  )
  const inClosed = await inTime(hasClosedEchoes(page, secrets), maxMs)
  if (inClosed === true) return { frames: all, isWhole: true }
  const frames: Frame[] = []
  let isWhole = all.length <= framesMax && inClosed !== null
  let left = textMaxChars
  for (const [frame, text] of read) {
    const searched = (text ?? '').slice(0, left)
    left -= searched.length
    if (text === null || text.length > searched.length) isWhole = false
    if (secrets.find(searched).length > 0) frames.push(frame)
  }
  return { frames, isWhole }
}

/** Returns the searched text of a frame; null if the frame has no document now or does not answer. */
async function textOf(frame: Frame, maxMs: number): Promise<string | null> {
  const text = await inTime<unknown>(frame.evaluate(readText), maxMs)
  return typeof text === 'string' ? text : null
}

async function hasClosedEchoes(page: Page, secrets: Secrets): Promise<boolean> {
  const closed = await findClosedEchoes(page, secrets)
  await closed.close()
  return /\d/.test(closed.mark)
}

/** Returns the result of the work; null if it fails or takes longer. */
async function inTime<T>(work: Promise<T>, maxMs: number): Promise<T | null> {
  const late = AbortSignal.timeout(maxMs)
  const tooLate = new Promise<null>((resolve) => {
    late.addEventListener('abort', () => resolve(null), { once: true })
  })
  return Promise.race([work.catch(() => null), tooLate])
}

/** Runs in the page: its text, what its fields hold, and attributes that scripts copy, shadow roots included. */
const readText = `(() => {
  const max = ${textMaxChars + 1}
  const parts = []
  let chars = 0
  const add = (text) => {
    if (typeof text !== 'string' || text === '' || chars > max) return
    parts.push(text.slice(0, max))
    chars += text.length
  }
  const walk = (root) => {
    add(root.innerText ?? root.textContent)
    for (const element of root.querySelectorAll('*')) {
      if (chars > max) return
      if (element.shadowRoot) {
        for (const child of element.shadowRoot.children) add(child.innerText)
        walk(element.shadowRoot)
      }
      if (['INPUT', 'TEXTAREA'].includes(element.tagName)) add(element.value)
      for (const { name, value } of element.attributes)
        if (name.startsWith('data-') || ['value', 'title', 'href', 'aria-label'].includes(name)) add(value)
    }
  }
  walk(document.documentElement)
  return parts.join('\\n').slice(0, max)
})()`
