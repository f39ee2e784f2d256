import type { Clock } from '@flotilla/protocol/clock'
import type { Retention } from '@flotilla/foundation/config'
import type { Log } from '@flotilla/foundation/platform'
import type { Span } from './span.ts'
import type { SpanTable } from './span-table.ts'
import type { WorkMetrics } from './work-metrics.ts'

/**
 * How long a span waits to be written together with others: one commit for each would cost more than the traced work.
 */
const flushAfterMs = 500
/** When this many spans wait, they are written without waiting longer. */
const flushAtSpans = 256
const dayMs = 24 * 3600_000

/** Writes spans in batches. A killed mesh loses the last batch, less than a second of spans. */
export interface KeepSpans {
  add(span: Span): void
  flush(): void
  /** Deletes one batch of expired spans. */
  prune(): void
}

export function createKeepSpans(deps: {
  readonly table: SpanTable
  readonly retention: () => Retention
  readonly metrics: Pick<WorkMetrics, 'dropped'>
  readonly clock: Clock
  readonly log: Log
  readonly closing: AbortSignal
}): KeepSpans {
  const { table, retention, clock, log } = deps
  let waiting: Span[] = []
  let isDue = false

  function flush(): void {
    const spans = waiting
    if (spans.length === 0) return
    waiting = []
    try {
      table.insert(spans)
    } catch (error) {
      // A failure of tracing must never stop the traced work.
      for (const _ of spans) deps.metrics.dropped()
      log.warn({ spans: spans.length, err: error }, 'failed to write spans; they are lost')
    }
  }

  async function flushSoon(): Promise<void> {
    if (isDue) return
    isDue = true
    await clock.sleep(flushAfterMs, deps.closing).catch(() => {})
    isDue = false
    if (!deps.closing.aborted) flush()
  }

  return {
    flush,
    add: (span) => {
      if (retention().keep_days === 0) return
      waiting.push(span)
      if (waiting.length >= flushAtSpans) flush()
      else void flushSoon()
    },
    prune: () => {
      const { keep_days: days, max_rows: rows } = retention()
      table.prune(clock.now() - days * dayMs, rows)
    },
  }
}
