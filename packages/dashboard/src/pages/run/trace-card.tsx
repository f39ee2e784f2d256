import { useState } from 'react'
import { traceTree } from '@flotilla/client/trace-tree'
import { formatCount } from '../../data/format.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { Card, Empty, Failed, Loading } from '../../design/parts.tsx'
import '../../design/trace.css'
import { SpanDetail } from './span-detail.tsx'
import { Waterfall } from './waterfall.tsx'

/** Shows the whole trace of a run; all runs of the trace share it. */
export function TraceCard({ runId }: { readonly runId: string }) {
  const found = useMesh('runTrace', { params: { id: runId } })
  const [active, setActive] = useState<string | null>(null)
  const rows = traceTree(found.data?.spans ?? [])
  const runs = new Set(rows.map(({ span }) => span.run_id)).size
  const chosen = rows.find(({ span }) => span.span_id === active)?.span
  return (
    <Card
      title="Trace"
      more={
        found.data && (
          <span className="small muted number">
            {formatCount(runs, 'run')}, {formatCount(rows.length, 'span')}
          </span>
        )
      }
    >
      {found.isPending && <Loading />}
      {found.error && <Failed error={found.error} retry={found.refetch} />}
      {found.isSuccess && rows.length === 0 && (
        <Empty title="No longer kept">
          Spans are kept for {formatCount(found.data.kept_days, 'day')}; traces.keep_days in
          config/settings.json says how long.
        </Empty>
      )}
      {rows.length > 0 && <Waterfall rows={rows} active={active} onActive={setActive} />}
      {found.data?.truncated && (
        <p className="small muted body">The trace is longer; only its earliest spans are shown.</p>
      )}
      {chosen && <SpanDetail key={chosen.span_id} span={chosen} runId={runId} />}
    </Card>
  )
}
