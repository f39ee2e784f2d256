import type { FleetEvent } from '@flotilla/protocol/fleet-event'
import type { Metric } from '@flotilla/identity/kernel'
import { otherName } from './conventions.ts'
import { createHistogram } from './histogram.ts'
import type { Span } from './span.ts'

type ModelCalled = Extract<FleetEvent['body'], { type: 'model.called' }>

/**
 * How many models have a series of their own. An owner may allow every model of a provider, so their number is
 * unbounded.
 */
const modelsMax = 100

/**
 * Counts and durations of finished work since the mesh started. Every label comes from a closed list or is bounded.
 */
export interface WorkMetrics {
  /** Records a finished span; `label` holds its labels: kind and state of a run, or a tool. */
  ended(what: 'run' | 'wait' | 'tool', span: Span, label: Readonly<Record<string, string>>): void
  modelCalled(call: ModelCalled): void
  /** Counts a span that was not kept because there were too many. */
  dropped(): void
  /** Counts spans that the collector refused. */
  refused(spans: number): void
  read(): readonly Metric[]
}

function noSums() {
  return { input: 0, output: 0, read: 0, written: 0, savedUsd: 0, usd: 0 }
}

export function createWorkMetrics(): WorkMetrics {
  const runs = createHistogram({
    name: 'flotilla_run_duration_seconds',
    description: 'Duration from the creation of a run to its outcome, by kind and outcome',
    others: { kind: otherName, state: otherName },
  })
  const waits = createHistogram({
    name: 'flotilla_lane_wait_seconds',
    description: 'How long a run was queued before its agent took it, by kind',
    others: { kind: otherName },
  })
  const tools = createHistogram({
    name: 'flotilla_tool_duration_seconds',
    description: 'Tool calls, by tool and success; tools of skills and MCP servers count as other',
    others: { tool: otherName, outcome: otherName },
  })
  const calls = createHistogram({
    name: 'flotilla_model_call_duration_seconds',
    description: 'Duration of settled model calls',
    others: { model: otherName },
  })
  const models = new Map<string, ReturnType<typeof noSums>>()
  let droppedSpans = 0
  let refusedSpans = 0

  function boundedModel(model: string): string {
    return models.has(model) || models.size < modelsMax ? model : otherName
  }

  return {
    ended: (what, span, label) => {
      const ms = span.endedAt - span.startedAt
      if (what === 'run') runs.observe(label, ms)
      else if (what === 'wait') waits.observe(label, ms)
      else tools.observe(label, ms)
    },
    modelCalled: (call) => {
      const model = boundedModel(call.model)
      const known = models.get(model) ?? noSums()
      known.input += call.prompt_tokens ?? 0
      known.output += call.completion_tokens ?? 0
      known.read += call.cached_tokens ?? 0
      known.written += call.cache_write_tokens ?? 0
      known.savedUsd += call.cache_saved_usd ?? 0
      known.usd += call.cost_usd
      models.set(model, known)
      calls.observe({ model }, call.duration_ms)
    },
    dropped: () => {
      droppedSpans += 1
    },
    refused: (spans) => {
      refusedSpans += spans
    },
    read: () => [
      runs.metric(),
      waits.metric(),
      tools.metric(),
      calls.metric(),
      {
        name: 'flotilla_model_tokens_total',
        kind: 'counter',
        description: 'Tokens of settled model calls since the mesh started, by model and direction',
        samples: [...models].flatMap(([model, { input, output }]) => [
          { labels: { model, direction: 'input' }, value: input },
          { labels: { model, direction: 'output' }, value: output },
        ]),
      },
      {
        name: 'flotilla_model_cache_tokens_total',
        kind: 'counter',
        description:
          'Input tokens that providers read from their prompt caches or wrote to them since the mesh started, by model',
        samples: [...models].flatMap(([model, { read, written }]) => [
          { labels: { model, access: 'read' }, value: read },
          { labels: { model, access: 'write' }, value: written },
        ]),
      },
      {
        // A gauge, because the amount can fall: a cache write that no later call reads costs more than no cache.
        name: 'flotilla_model_cache_saved_usd',
        kind: 'gauge',
        description:
          'What settled model calls would have cost more without prompt caches since the mesh started, US dollars',
        samples: [...models].map(([model, { savedUsd }]) => ({ labels: { model }, value: savedUsd })),
      },
      {
        name: 'flotilla_model_cost_usd_total',
        kind: 'counter',
        description: 'What settled model calls cost since the mesh started, US dollars',
        samples: [...models].map(([model, { usd }]) => ({ labels: { model }, value: usd })),
      },
      {
        name: 'flotilla_spans_dropped_total',
        kind: 'counter',
        description:
          'Parts of traces that were not kept, since one run had too many or they could not be written',
        samples: [{ value: droppedSpans }],
      },
      {
        name: 'flotilla_spans_refused_total',
        kind: 'counter',
        description: 'Spans that the collector refused in batches that it accepted in part',
        samples: [{ value: refusedSpans }],
      },
    ],
  }
}
