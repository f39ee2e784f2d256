import type { RunView } from '@flotilla/protocol/run'
import type { SpanView } from '@flotilla/protocol/trace-api'
import { formatDuration, formatTokens, formatUsd } from '../../data/format.ts'
import { isModelSpan } from './model-step.ts'

export interface ComparedRun {
  readonly run: RunView
  readonly spans: readonly SpanView[]
}

/** One figure of two runs, and by how much the second differs; null if it cannot be compared. */
export interface ComparedFigure {
  readonly name: string
  readonly one: string
  readonly other: string
  readonly change: string | null
}

/** Compares the figures of two runs. Pure. */
export function compareFigures(one: ComparedRun, other: ComparedRun): readonly ComparedFigure[] {
  const took = ({ run: { started_at: from, ended_at: until } }: ComparedRun): number | null =>
    from === null || until === null ? null : until - from
  const figures: readonly (readonly [
    string,
    (of: ComparedRun) => number | null,
    (value: number) => string,
  ])[] = [
    ['Took', took, formatDuration],
    ['Cost', ({ run }) => run.cost_usd, formatUsd],
    ['Tokens', ({ run }) => run.tokens_used, formatTokens],
    ['Model calls', (of) => ownSpans(of).filter(isModelSpan).length, String],
    ['Tool calls', (of) => toolsOf(of).length, String],
    ['Attempts', ({ run }) => run.attempt, String],
  ]
  return [
    { name: 'State', one: one.run.state, other: other.run.state, change: null },
    ...figures.map(([name, read, format]) => {
      const [before, after] = [read(one), read(other)]
      return {
        name,
        one: before === null ? '–' : format(before),
        other: after === null ? '–' : format(after),
        change: changeOf(before, after),
      }
    }),
  ]
}

/** The tools that a run called, in their order. Pure. */
export function toolsOf(of: ComparedRun): readonly string[] {
  return ownSpans(of).flatMap(({ attributes }) => {
    const tool = attributes['gen_ai.tool.name']
    return tool === undefined ? [] : [String(tool)]
  })
}

function ownSpans({ run, spans }: ComparedRun): readonly SpanView[] {
  return spans.filter(({ run_id: id }) => id === run.id)
}

function changeOf(before: number | null, after: number | null): string | null {
  if (before === null || after === null || before === after || before === 0) return null
  const percent = Math.round((after / before - 1) * 100)
  return percent === 0 ? null : `${percent > 0 ? '+' : '−'}${Math.abs(percent)} %`
}
