import type { Interface } from 'node:readline'

/** Lines that are kept for later; beyond it the input is not read on. */
const keptMax = 100

/** What is typed, taken one by one when there is time for it, or heard at once while an answer streams. */
export interface TypedLines {
  /** The next line that nobody heard; null at the end of the input. */
  next(): Promise<string | null>
  /** Who hears lines at once from now on; null: they are kept for `next`. */
  hear(listener: ((line: string) => void) | null): void
}

export function createTypedLines(lines: Interface): TypedLines {
  const kept: string[] = []
  let listener: ((line: string) => void) | null = null
  let closed = false
  let wake: () => void = () => undefined
  lines.on('line', (line) => {
    if (listener !== null) return listener(line)
    kept.push(line)
    if (kept.length >= keptMax) lines.pause()
    wake()
  })
  lines.on('close', () => {
    closed = true
    wake()
  })
  return {
    next: async () => {
      if (kept.length === 0 && !closed) await new Promise<void>((resolve) => (wake = resolve))
      const line = kept.shift() ?? null
      if (kept.length === 0 && !closed) lines.resume()
      return line
    },
    hear: (next) => {
      listener = next
    },
  }
}
