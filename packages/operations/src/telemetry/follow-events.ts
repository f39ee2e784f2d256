import type { FleetEvent } from '@flotilla/protocol/fleet-event'
import { isTerminal } from '@flotilla/protocol/run'
import type { RunState } from '@flotilla/protocol/run'
import type { RunRecord } from '@flotilla/work/runs'
import { boundedCode, boundedTool, genAi, own } from './conventions.ts'
import { partSpanId, runSpanId, traceIdOf } from './span.ts'
import type { Span, SpanAttributes } from './span.ts'
import type { WorkMetrics } from './work-metrics.ts'

/** How many runs are tracked at once; above it, the oldest one is dropped and its later parts are missing. */
const followedMax = 4096
/** How many tool calls of one run can be open at once. */
const openToolsMax = 64
/** How many spans of one run are kept. */
export const partsPerRunMax = 5000

/** A tool call that has started. */
interface OpenTool {
  readonly tool: string
  /** Identifies the start and the end event of one call; the text comes from the agent. */
  readonly key: string
  readonly at: number
  readonly bySubagent: boolean
}

interface Followed {
  readonly run: RunRecord
  readonly traceId: string
  readonly spanId: string
  phase: RunState
  since: number
  parts: number
  readonly tools: OpenTool[]
}

/**
 * Builds spans from the events of the fleet, so that the code that does the work needs no tracing.
 * - F1 The ids of a run's span and of its parts are derived from what they represent, so they can be joined without
 *   stored state. What a killed mesh forgot is only missing.
 * - F2 No text of agents enters a span, only numbers; names come from closed lists or are `other`.
 * - F3 Tracked runs, open calls and parts of each run are bounded.
 */
export interface FollowEvents {
  handleEvent(event: FleetEvent): void
  /** Spans of what the run is doing now, as if it ended at `now`. */
  open(runId: string, now: number): readonly Span[]
}

type TokensReported = Extract<FleetEvent['body'], { type: 'tokens.reported' }>
type ModelCalled = Extract<FleetEvent['body'], { type: 'model.called' }>

export function createFollowEvents(deps: {
  readonly find: (runId: string) => RunRecord | null
  readonly metrics: WorkMetrics
  readonly emit: (span: Span) => void
}): FollowEvents {
  const { metrics } = deps
  const followed = new Map<string, Followed>()

  function follow(runId: string): Followed | null {
    const known = followed.get(runId)
    if (known) return known
    const run = deps.find(runId)
    if (!run) return null
    const made: Followed = {
      run,
      traceId: traceIdOf(run.traceId),
      spanId: runSpanId(run.id),
      phase: run.state,
      since: sinceOf(run),
      parts: 0,
      tools: [],
    }
    followed.set(runId, made)
    if (followed.size > followedMax) {
      for (const oldest of followed.keys()) {
        followed.delete(oldest)
        break
      }
    }
    return made
  }

  function emit(one: Followed, span: Span): void {
    one.parts += 1
    if (one.parts > partsPerRunMax) metrics.dropped()
    else deps.emit(span)
  }

  function changed(runId: string, state: RunState, event: FleetEvent): void {
    const one = follow(runId)
    if (!one) return
    // If the first event of a run reports its start, the run was queued until that event.
    const before = followed.get(runId)?.phase
    const wasQueued = state === 'running' || (isTerminal(state) && before === 'queued')
    const start = before === 'queued' ? one.since : one.run.queuedSince
    if (wasQueued && start <= event.at) {
      const wait = partOf(one, {
        name: 'flotilla.lane_wait',
        at: start,
        end: event.at,
        part: `${event.seq}:lane`,
      })
      metrics.ended('wait', wait, { kind: one.run.kind })
      emit(one, wait)
    }
    if (before === 'waiting' && state !== 'waiting') {
      emit(
        one,
        partOf(one, { name: 'flotilla.wait', at: one.since, end: event.at, part: `${event.seq}:wait` }),
      )
    }
    if (state !== 'running') {
      for (const [index, tool] of one.tools.splice(0).entries()) {
        emit(one, toolSpan(one, tool, { end: event.at, ok: null, part: `${event.seq}:${index}` }))
      }
    }
    one.phase = state
    one.since = event.at
    if (!isTerminal(state)) return
    const ended = deps.find(runId)
    if (ended) {
      const span = runSpan(ended, event.at)
      metrics.ended('run', span, { kind: ended.kind, state: ended.state })
      // The span of the run itself is always emitted, even above the limit of parts.
      deps.emit(span)
    }
    followed.delete(runId)
  }

  function toolStarted(body: Extract<FleetEvent['body'], { type: 'tool.started' }>, at: number): void {
    const one = follow(body.run_id)
    if (!one || one.tools.length >= openToolsMax) return
    const bySubagent = body.subagent !== undefined
    one.tools.push({ tool: boundedTool(body.name), key: keyOf(body), at, bySubagent })
  }

  function toolEnded(body: Extract<FleetEvent['body'], { type: 'tool.ended' }>, event: FleetEvent): void {
    const one = follow(body.run_id)
    const at = one?.tools.findIndex(({ key }) => key === keyOf(body)) ?? -1
    const tool = one?.tools[at]
    if (!one || !tool) return
    one.tools.splice(at, 1)
    const span = toolSpan(one, tool, { end: event.at, ok: body.ok, part: String(event.seq) })
    metrics.ended('tool', span, { tool: tool.tool, outcome: body.ok ? 'ok' : 'error' })
    emit(one, span)
  }

  function modelCalled(body: ModelCalled, event: FleetEvent): void {
    metrics.modelCalled(body)
    const one = body.run_id === null ? null : follow(body.run_id)
    if (!one) return
    emit(one, modelSpan(one, body, event))
    if (isTerminal(one.phase)) followed.delete(one.run.id)
  }

  function tokensReported(body: TokensReported, event: FleetEvent): void {
    const one = follow(body.run_id)
    if (one) emit(one, reportSpan(one, body, event))
  }

  function delayed(body: Extract<FleetEvent['body'], { type: 'model.delayed' }>, event: FleetEvent): void {
    const one = body.state === 'retries' && body.run_id !== null ? follow(body.run_id) : null
    if (!one) return
    emit(one, {
      ...partOf(one, {
        name: 'flotilla.model_retry',
        at: event.at,
        end: event.at + body.seconds * 1000,
        part: String(event.seq),
        attributes: { [genAi.errorType]: boundedCode(body.code) },
      }),
      status: 'error',
    })
  }

  /** A sandbox was started for the run that its agent works on. */
  function agentStarted(
    body: Extract<FleetEvent['body'], { type: 'agent.started' }>,
    event: FleetEvent,
  ): void {
    for (const one of followed.values()) {
      if (one.run.agentId !== body.agent_id || one.phase !== 'running') continue
      const at = Math.max(one.since, event.at - body.ready_ms)
      emit(one, partOf(one, { name: 'flotilla.start_agent', at, end: event.at, part: String(event.seq) }))
    }
  }

  return {
    handleEvent: (event) => {
      const { body } = event
      if (body.type === 'run.changed') changed(body.run_id, body.state, event)
      else if (body.type === 'tool.started') toolStarted(body, event.at)
      else if (body.type === 'tool.ended') toolEnded(body, event)
      else if (body.type === 'model.called') modelCalled(body, event)
      else if (body.type === 'model.delayed') delayed(body, event)
      else if (body.type === 'tokens.reported') tokensReported(body, event)
      else if (body.type === 'agent.started') agentStarted(body, event)
    },
    open: (runId, now) => {
      const one = followed.get(runId)
      if (!one) return []
      const name = one.phase === 'queued' ? 'flotilla.lane_wait' : 'flotilla.wait'
      return [
        ...(one.phase === 'running' ? [] : [partOf(one, { name, at: one.since, end: now, part: 'open' })]),
        ...one.tools.map((tool, index) => toolSpan(one, tool, { end: now, ok: null, part: `open:${index}` })),
      ]
    },
  }
}

function keyOf(body: {
  readonly step: number
  readonly name: string
  readonly subagent?: string | undefined
}) {
  return JSON.stringify([body.subagent ?? null, body.step, body.name])
}

/** The time at which the run entered its current state. Pure. */
function sinceOf(run: RunRecord): number {
  if (run.state === 'queued') return run.queuedSince
  return (run.state === 'waiting' ? run.waitingSince : run.turnStartedAt) ?? run.createdAt
}

function partOf(
  { run, traceId, spanId }: Followed,
  fields: {
    readonly name: string
    readonly at: number
    readonly end: number
    readonly part: string
    readonly attributes?: SpanAttributes
  },
): Span {
  return {
    traceId,
    spanId: partSpanId(run.id, fields.part),
    parentId: spanId,
    runId: run.id,
    agentId: run.agentId,
    name: fields.name,
    kind: 'internal',
    status: 'unset',
    startedAt: Math.round(fields.at),
    endedAt: Math.round(Math.max(fields.at, fields.end)),
    attributes: fields.attributes ?? {},
  }
}

function modelSpan(one: Followed, body: ModelCalled, event: FleetEvent): Span {
  const began = body.started_at ?? event.at - body.duration_ms
  // The last call of a stopped run is settled after the run has ended; its span is cut at the end of the run.
  const end = Math.min(began + body.duration_ms, one.run.endedAt ?? event.at)
  const operation = body.operation ?? 'chat'
  const attributes = {
    [genAi.operation]: operation,
    [genAi.provider]: body.model.split('/', 1)[0] ?? '',
    [genAi.requestModel]: body.model,
    [genAi.inputTokens]: body.prompt_tokens ?? 0,
    [genAi.outputTokens]: body.completion_tokens ?? 0,
    ...(body.cached_tokens === undefined ? {} : cacheAttributes(body)),
    ...(body.cache_break === undefined ? {} : { [own.cacheBreak]: body.cache_break }),
    [own.costUsd]: body.cost_usd,
    ...(body.unconfirmed === undefined ? {} : { [own.unconfirmed]: true }),
  }
  const name = `${operation} ${body.model}`
  const part = String(event.seq)
  return { ...partOf(one, { name, at: Math.min(began, end), end, part, attributes }), kind: 'client' }
}

/** The mesh does not know when the calls behind a report were made. */
function reportSpan(one: Followed, body: TokensReported, event: FleetEvent): Span {
  const attributes = {
    [genAi.inputTokens]: body.prompt_tokens,
    [genAi.outputTokens]: body.completion_tokens,
  }
  const times = { at: event.at, end: event.at, part: String(event.seq) }
  return partOf(one, { name: 'flotilla.tokens_reported', ...times, attributes })
}

/** Returns the attributes of a model call whose provider used its cache. Pure. */
function cacheAttributes(body: ModelCalled): SpanAttributes {
  return {
    [genAi.cacheReadTokens]: body.cached_tokens ?? 0,
    [genAi.cacheWriteTokens]: body.cache_write_tokens ?? 0,
    [own.cacheSavedUsd]: body.cache_saved_usd ?? 0,
  }
}

/** `ok` is null for a call whose end was not reported. */
function toolSpan(
  one: Followed,
  { tool, at, bySubagent }: OpenTool,
  outcome: { readonly end: number; readonly ok: boolean | null; readonly part: string },
): Span {
  const attributes = {
    [genAi.operation]: 'execute_tool',
    [genAi.toolName]: tool,
    ...(bySubagent ? { [own.bySubagent]: true } : {}),
    ...(outcome.ok === null ? { [own.cutOff]: true } : {}),
  }
  const part = partOf(one, {
    name: `execute_tool ${tool}`,
    at,
    end: outcome.end,
    part: outcome.part,
    attributes,
  })
  return { ...part, status: outcome.ok === null ? 'unset' : outcome.ok ? 'ok' : 'error' }
}

/** The span of the whole run, from its creation to its outcome, or to `now` without one. Pure. */
export function runSpan(run: RunRecord, now: number): Span {
  const failed = run.state === 'failed' || run.state === 'expired'
  return {
    traceId: traceIdOf(run.traceId),
    spanId: runSpanId(run.id),
    parentId: run.parentId === null ? null : runSpanId(run.parentId),
    runId: run.id,
    agentId: run.agentId,
    name: `invoke_agent ${run.agentId}`,
    kind: 'internal',
    status: run.state === 'done' ? 'ok' : failed ? 'error' : 'unset',
    startedAt: run.createdAt,
    endedAt: run.endedAt ?? now,
    attributes: {
      [genAi.operation]: 'invoke_agent',
      [genAi.agentId]: run.agentId,
      [genAi.agentName]: run.agentId,
      [own.runId]: run.id,
      [own.runKind]: run.kind,
      [own.runState]: run.state,
      [own.attempts]: run.attempt,
      [own.origin]: run.origin.kind,
      [own.tokens]: run.tokensUsed,
      [own.costUsd]: run.costUsd,
      ...(failed ? { [genAi.errorType]: boundedCode(run.outcome?.code) } : {}),
    },
  }
}
