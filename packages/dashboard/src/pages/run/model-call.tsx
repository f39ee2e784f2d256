import type { ReactNode } from 'react'
import type { SpanView } from '@flotilla/protocol/trace-api'
import { formatShare, formatTokens, formatUsd } from '../../data/format.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { Code, Loading } from '../../design/parts.tsx'
import { promptOf, stepOfSpan } from './model-step.ts'

/** Attributes of a model call that `ModelFigures` shows in words. */
export const modelFigureNames: readonly string[] = [
  'gen_ai.usage.input_tokens',
  'gen_ai.usage.cache_read.input_tokens',
  'gen_ai.usage.cache_creation.input_tokens',
  'gen_ai.usage.output_tokens',
  'flotilla.cost_usd',
  'flotilla.cache_saved_usd',
]

/** The tokens of a model call by kind, and its cost, as rows of facts. Pure. */
export function modelFigures({ attributes }: SpanView): readonly (readonly [string, ReactNode])[] {
  const number = (name: string): number => Number(attributes[name] ?? 0)
  const read = number('gen_ai.usage.input_tokens')
  const cached = number('gen_ai.usage.cache_read.input_tokens')
  const written = number('gen_ai.usage.cache_creation.input_tokens')
  const saved = number('flotilla.cache_saved_usd')
  const bound = attributes['flotilla.cost_unconfirmed'] === true ? 'up to ' : ''
  return [
    ['Tokens read', bound + formatTokens(read)],
    ...(cached > 0
      ? [
          [
            'From the cache',
            `${formatTokens(cached)}, ${formatShare(read === 0 ? 0 : cached / read)}`,
          ] as const,
        ]
      : []),
    ...(written > 0 ? [['Into the cache', formatTokens(written)] as const] : []),
    ['Tokens written', bound + formatTokens(number('gen_ai.usage.output_tokens'))],
    ['Cost', bound + formatUsd(number('flotilla.cost_usd'))],
    ...(saved === 0 ? [] : [['Saved by cache', formatUsd(saved)] as const]),
  ]
}

/** What a model was asked and what it answered, from the record of the run. */
export function ModelCall({ span }: { readonly span: SpanView }) {
  const record = useMesh('runRecord', { params: { id: span.run_id } })
  if (record.isPending) return <Loading rows={2} />
  const step = record.data ? stepOfSpan(span, record.data) : null
  if (!record.data || step === null) {
    return (
      <p className="small muted">
        The record of the run has no prompt and answer of this call: it was made outside of the conversation,
        or the record is no longer kept.
      </p>
    )
  }
  return (
    <>
      <details open>
        <summary>Answer</summary>
        {step.text !== '' && <Code value={step.text} label="Answer of the model" />}
        {step.calls.map(({ tool, arguments: given }, index) => (
          // The index is the key, because calls of one step have no ids.
          <Code key={index} value={`${tool} ${given}`} label={`Call of ${tool}`} />
        ))}
        {step.text === '' && step.calls.length === 0 && (
          <p className="small muted">The model said nothing.</p>
        )}
      </details>
      <details>
        <summary>Prompt of this turn</summary>
        <div className="stack tight">
          {promptOf(step, record.data).map(({ who, text }, index) => (
            <div key={index}>
              <div className="small muted">{who}</div>
              <Code value={text} label={`${who}, part ${index + 1} of the prompt`} />
            </div>
          ))}
        </div>
      </details>
    </>
  )
}
