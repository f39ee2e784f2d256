import type { Clock } from '@flotilla/protocol/clock'

/** Returns the status text for the seconds since the wait started; null while no line is needed. */
export type StatusWords = (seconds: number) => string | null

/** A status line whose text each update replaces. */
export interface StatusLine {
  show(textAt: StatusWords): void
  isShown(): boolean
  clear(): void
  /** Clears the status line before other output; the next update draws it again. */
  pause(): void
}

const tickMs = 1000

export function createStatusLine({
  clock,
  write,
}: {
  readonly clock: Clock
  /** Writes the line; null removes it. */
  readonly write: (line: string | null) => void
}): StatusLine {
  let shown: AbortController | null = null
  /** True while a status line is on the screen, so that only then it is cleared. */
  let isDrawn = false

  function draw(line: string | null): void {
    if (line === null && !isDrawn) return
    isDrawn = line !== null
    write(line)
  }

  async function tick(textAt: StatusWords, { signal }: AbortController): Promise<void> {
    const since = clock.now()
    while (!signal.aborted) {
      draw(textAt(Math.round((clock.now() - since) / 1000)))
      await clock.sleep(tickMs, signal).catch(() => undefined)
    }
  }

  function clear(): void {
    if (shown === null) return
    shown.abort()
    shown = null
    draw(null)
  }

  return {
    show(textAt) {
      shown?.abort()
      shown = new AbortController()
      void tick(textAt, shown)
    },
    isShown: () => shown !== null,
    clear,
    pause: () => draw(null),
  }
}
