import { useEffect, useMemo, useRef, useState } from 'react'
import { systemClock } from '@flotilla/client/system-clock'
import { traceTree } from '@flotilla/client/trace-tree'
import type { TraceRow } from '@flotilla/client/trace-tree'
import { formatCount } from '../../data/format.ts'
import { saveFile } from '../../data/save-file.ts'
import { useChoice } from '../../data/use-choice.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { CopyButton } from '../../design/copy-button.tsx'
import { Card, Empty, Failed, Loading } from '../../design/parts.tsx'
import '../../design/trace.css'
import { stepOfSpan } from './model-step.ts'
import { otlpJson } from './otlp-json.ts'
import { searchTrace } from './search-trace.ts'
import type { SpanCall } from './span-calls.ts'
import { SpanDetail } from './span-detail.tsx'
import { useSpanCalls } from './use-span-calls.ts'
import { Waterfall, spanTitle } from './waterfall.tsx'

/** Shows the whole trace of a run, with the chosen span beside it; all runs of the trace share it. */
export function TraceCard({ runId }: { readonly runId: string }) {
  const found = useMesh('runTrace', { params: { id: runId } })
  const [{ span: active, find: words }, choose] = useChoice(['span', 'find'])
  const rows = useMemo(() => traceTree(found.data?.spans ?? []), [found.data])
  const calls = useSpanCalls(rows)
  const textOf = useSearchedText(runId, { calls, isSearched: words !== '' })
  const shown = searchTrace(rows, words, textOf)
  const runs = new Set(rows.map(({ span }) => span.run_id)).size
  const chosen = rows.find(({ span }) => span.span_id === active)?.span
  const panel = useRef<HTMLDivElement>(null)
  // On a narrow page the details are below the list, so a choice scrolls to them.
  useEffect(() => {
    if (chosen && matchMedia('(max-width: 1000px)').matches)
      panel.current?.scrollIntoView({ block: 'nearest' })
  }, [chosen])
  return (
    <Card
      title="Trace"
      more={
        found.data && (
          <span className="row">
            <span className="small muted number">
              {formatCount(runs, 'run')}, {formatCount(rows.length, 'span')}
            </span>
            <button
              type="button"
              className="button small"
              onClick={() =>
                saveFile(`${runId}.otlp.json`, `${JSON.stringify(otlpJson(found.data, systemClock.now()))}\n`)
              }
            >
              Export OTLP
            </button>
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
      {rows.length > 0 && (
        <>
          <div className="row trace-search">
            <input
              className="input"
              type="search"
              placeholder="Search in names, arguments, results and answers"
              aria-label="Search in the trace"
              value={words}
              onChange={(event) => choose('find', event.target.value)}
            />
            {words !== '' && (
              <span className="small muted" role="status">
                {formatCount(shown.found.size, 'span')} found
              </span>
            )}
          </div>
          <div className={chosen ? 'trace-split has-panel' : 'trace-split'}>
            <div>
              <Waterfall
                rows={shown.rows}
                calls={calls}
                active={active}
                onActive={(id) => choose('span', id)}
              />
            </div>
            {chosen && (
              <div className="trace-panel" ref={panel}>
                <div className="row apart body">
                  <CopyButton text={() => window.location.href} what="to this span" label="Copy link" />
                  <button type="button" className="button small quiet" onClick={() => choose('span', '')}>
                    Close<span className="hidden-words"> the details</span>
                  </button>
                </div>
                <SpanDetail
                  key={chosen.span_id}
                  span={chosen}
                  call={calls.get(chosen.span_id)}
                  runId={runId}
                />
              </div>
            )}
          </div>
        </>
      )}
      {found.data?.truncated && (
        <p className="small muted body">The trace is longer; only its earliest spans are shown.</p>
      )}
    </Card>
  )
}

/** Returns a function for the text of a row: its name, and what the run's calls were given and gave. */
function useSearchedText(
  runId: string,
  { calls, isSearched }: { readonly calls: ReadonlyMap<string, SpanCall>; readonly isSearched: boolean },
): (row: TraceRow) => string {
  const [wasSearched, setSearched] = useState(isSearched)
  if (isSearched && !wasSearched) setSearched(true)
  const record = useMesh('runRecord', { params: { id: runId } }, { enabled: wasSearched })
  return ({ span }) => {
    const call = calls.get(span.span_id)
    const step = span.run_id === runId && record.data ? stepOfSpan(span, record.data) : null
    return [
      spanTitle(span),
      span.agent_id,
      JSON.stringify(span.attributes),
      call === undefined ? '' : `${JSON.stringify(call.input)} ${call.output ?? ''}`,
      step?.text ?? '',
    ].join('\n')
  }
}
