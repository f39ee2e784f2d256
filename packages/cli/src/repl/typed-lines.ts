import type { Interface } from 'node:readline'

/** The maximum number of queued lines; beyond it the input is not read. */
const keptMax = 100

/** A queue of typed lines, read one by one, or passed to a listener immediately while an answer streams. */
export interface TypedLines {
  /** Returns the next queued line; null at the end of the input. */
  next(): Promise<string | null>
  /** Sets the listener that receives lines immediately; null queues them for `next`. */
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
