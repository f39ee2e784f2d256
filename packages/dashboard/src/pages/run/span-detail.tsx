import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { SpanView } from '@flotilla/protocol/trace-api'
import { formatDuration, formatMoment } from '../../data/format.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { Badge, Code, Failed, Loading } from '../../design/parts.tsx'
import { runTone } from '../../live/draw-event.ts'
import { SeenPictures } from '../seen-pictures.tsx'
import { describeRunInput } from '../describe-run-input.ts'
import { ModelCall, modelFigureNames, modelFigures } from './model-call.tsx'
import { isModelSpan } from './model-step.ts'
import type { SpanCall } from './span-calls.ts'
import { isRunSpan, spanTitle } from './waterfall.tsx'

/** Shows one span: its times, its attributes, and for a call the arguments and the result. */
export function SpanDetail({
  span,
  call,
  runId,
}: {
  readonly span: SpanView
  /** The tool call of the span, as far as its events are stored and loaded. */
  readonly call: SpanCall | undefined
  readonly runId: string
}) {
  const { started_at: from, ended_at: until, attributes } = span
  const facts: readonly (readonly [string, ReactNode])[] = [
    ['Agent', span.agent_id],
    ['Run', span.run_id === runId ? 'this one' : <Link href={`/runs/${span.run_id}`}>{span.run_id}</Link>],
    ['Began', formatMoment(from)],
    ['Took', until === null ? 'still running' : formatDuration(until - from)],
    ...(isModelSpan(span) ? modelFigures(span) : []),
    ...Object.entries(attributes)
      .filter(
        ([name]) => name !== 'flotilla.run.id' && !(isModelSpan(span) && modelFigureNames.includes(name)),
      )
      .map(([name, value]) => [attributeWords(name), String(value)] as const),
  ]
  return (
    <section className="body stack span-detail" aria-label={`Details: ${spanTitle(span)}`}>
      <h3>{spanTitle(span)}</h3>
      <dl className="facts">
        {facts.map(([name, value]) => (
          <div key={name} className="fact">
            <dt>{name}</dt>
            <dd className="number">{value}</dd>
          </div>
        ))}
      </dl>
      {isModelSpan(span) && <ModelCall span={span} />}
      {attributes['gen_ai.tool.name'] !== undefined && <Call span={span} call={call} />}
      {isRunSpan(span) && span.run_id !== runId && <OtherRun id={span.run_id} />}
    </section>
  )
}

/** Names an attribute of a span for people: `gen_ai.request.model` is “Request model”. Pure. */
export function attributeWords(name: string): string {
  const words = name.replace(/^(?:gen_ai|flotilla)\./, '').replace(/\.name$/, '')
  return `${words.charAt(0).toUpperCase()}${words.slice(1).replaceAll(/[._]/g, ' ')}`
}

function Call({ span, call }: { readonly span: SpanView; readonly call: SpanCall | undefined }) {
  const events = useMesh('runEvents', { params: { id: span.run_id } })
  if (events.isPending) return <Loading rows={2} />
  if (events.error) return <Failed error={events.error} retry={events.refetch} />
  if (!call) {
    return (
      <p className="small muted">
        Arguments and result are no longer kept here. The record of the run may have them, as may the journal.
      </p>
    )
  }
  return (
    <>
      <details open>
        <summary>Arguments</summary>
        <Code value={call.input} label={`Arguments of ${call.name}`} />
      </details>
      <SeenPictures agent={span.agent_id} by={call.name} pictures={call.pictures} onlyAsked />
      {call.output !== null && (
        <details open>
          <summary>{call.ok ? 'Result' : 'Result: it failed'}</summary>
          <Code value={call.output} label={`Result of ${call.name}`} />
        </details>
      )}
    </>
  )
}

function OtherRun({ id }: { readonly id: string }) {
  const found = useMesh('run', { params: { id } })
  if (found.isPending) return <Loading rows={2} />
  if (found.error) return <Failed error={found.error} retry={found.refetch} />
  const { state, outcome } = found.data
  return (
    <>
      <details open>
        <summary>Asked</summary>
        <p className="plain-text">{describeRunInput(found.data)}</p>
      </details>
      <details open>
        <summary>
          Outcome <Badge tone={runTone(state)}>{state}</Badge>
        </summary>
        <p className="plain-text">{outcome?.text ?? 'This call has no result yet.'}</p>
      </details>
    </>
  )
}
