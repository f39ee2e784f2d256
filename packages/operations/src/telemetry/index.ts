import type { OtlpSettings } from '@flotilla/foundation/config'
import type { Kernel, MeshModule } from '@flotilla/identity/kernel'
import { productVersion } from '@flotilla/foundation/platform'
import type { OutboundProxies } from '@flotilla/foundation/platform'
import type { Runs } from '@flotilla/work/runs'
import type { SpanExport } from './export-spans.ts'
import { createFollowEvents } from './follow-events.ts'
import { createKeepSpans } from './keep-spans.ts'
import { tracePeopleRoutes } from './people.routes.ts'
import { createReadTrace } from './read-trace.ts'
import { createSpanTable } from './span-table.ts'
import { createWorkMetrics } from './work-metrics.ts'

/**
 * Wires traces and durations. They are derived from events, so no other module calls this one. Traces are stored in
 * the mesh's database and exported by OTLP if the owner configures it.
 */
export function telemetryModule(
  kernel: Kernel,
  needs: {
    readonly runs: Pick<Runs, 'queries'>
    readonly otlp: OtlpSettings | null
    readonly proxies: OutboundProxies
  },
): MeshModule<null> {
  const { database, events, settings, clock, log } = kernel
  const closing = new AbortController()
  const metrics = createWorkMetrics()
  const table = createSpanTable(database)
  const retention = () => settings().traces
  const keep = createKeepSpans({ table, retention, metrics, clock, log, closing: closing.signal })
  let sender: SpanExport | null = null
  const follow = createFollowEvents({
    find: needs.runs.queries.find,
    metrics,
    emit: (span) => {
      keep.add(span)
      sender?.send(span)
    },
  })
  // Subscribed before the start, because resumed runs are work too.
  const leave = events.subscribe(follow.handleEvent)
  const readTrace = createReadTrace({
    ...kernel,
    runs: needs.runs.queries,
    table,
    follow,
    flush: keep.flush,
    keptDays: () => retention().keep_days,
  })
  return {
    api: null,
    routes: { people: (surface) => tracePeopleRoutes(surface, readTrace) },
    metrics: metrics.read,
    start: async () => {
      if (needs.otlp === null) return
      const { createSpanExport } = await import('./export-spans.ts')
      let isRefusalKnown = false
      sender = createSpanExport({ ...needs.otlp, proxies: needs.proxies }, productVersion, {
        lost: (spans, error) =>
          log.warn(
            { spans, err: error },
            'failed to export spans to the collector; they are kept in the database only',
          ),
        refused: ({ spans, reason }) => {
          metrics.refused(spans)
          if (isRefusalKnown) return
          isRefusalKnown = true
          log.warn(
            { spans, reason },
            'the collector accepted a batch of spans in part; later refusals are counted in flotilla_spans_refused_total',
          )
        },
      })
      log.info({ host: new URL(needs.otlp.url).host }, 'traces are exported by OTLP')
    },
    maintain: keep.prune,
    close: async () => {
      leave()
      closing.abort(new Error('the mesh stops'))
      keep.flush()
      await sender?.close().catch((error: unknown) => {
        log.warn(
          { err: error },
          'failed to export the last spans before exit; they are kept in the database only',
        )
      })
    },
  }
}
