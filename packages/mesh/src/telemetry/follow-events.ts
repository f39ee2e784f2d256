import type { FleetEvent } from '@flotilla/protocol/fleet-event'
import { isTerminal } from '@flotilla/protocol/run'
import type { RunState } from '@flotilla/protocol/run'
import type { RunRecord } from '../runs/index.ts'
import { boundedCode, boundedTool, genAi, own } from './conventions.ts'
import { partSpanId, runSpanId, traceIdOf } from './span.ts'
import type { Span, SpanAttributes } from './span.ts'
import type { WorkMetrics } from './work-metrics.ts'

/** Runs that are followed at once; the one that was seen first is let go of, and its parts from then on are missing. */
const followedMax = 4096
/** Calls of tools of one run that are open at once. */
const openToolsMax = 64
/** Parts of one run that are kept. */
export const partsPerRunMax = 5000

/** A call of a tool that has begun. */
interface OpenTool {
  readonly tool: string
  /** What start and end have in common; the agent chose it. */
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
 * Makes spans of what the fleet tells of itself, so that nothing that works has to know of traces.
 *
 * - F1 A run's span and those below it have ids by what they stand for; no state of ours is needed to join them, and
 *   what a killed mesh forgot is only missing.
 * - F2 Of what an agent wrote nothing comes in but numbers: names are of closed lists, or `other`.
 * - F3 Bounded by runs, by open calls and by parts of each run.
 */
export interface FollowEvents {
  hear(event: FleetEvent): void
  /** What is going on in the run now, as if it ended at `now`. */
  open(runId: string, now: number): readonly Span[]
}

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
    // A run that is seen first as it is taken waited until then, whoever saw that.
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
      // The one part that is never too many.
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

  /** A sandbox that was started for the run that its agent has in hand. */
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
    hear: (event) => {
      const { body } = event
      if (body.type === 'run.changed') changed(body.run_id, body.state, event)
      else if (body.type === 'tool.started') toolStarted(body, event.at)
      else if (body.type === 'tool.ended') toolEnded(body, event)
      else if (body.type === 'model.called') modelCalled(body, event)
      else if (body.type === 'model.delayed') delayed(body, event)
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

/** When the run came into the state that it is in. Pure. */
function sinceOf(run: RunRecord): number {
  if (run.state === 'queued') return run.queuedSince
  return (run.state === 'waiting' ? run.waitingSince : run.turnStartedAt) ?? run.createdAt
}

function partOf(
  { run, traceId, spanId }: Followed,
  told: {
    readonly name: string
    readonly at: number
    readonly end: number
    readonly part: string
    readonly attributes?: SpanAttributes
  },
): Span {
  return {
    traceId,
    spanId: partSpanId(run.id, told.part),
    parentId: spanId,
    runId: run.id,
    agentId: run.agentId,
    name: told.name,
    kind: 'internal',
    status: 'unset',
    startedAt: Math.round(told.at),
    endedAt: Math.round(Math.max(told.at, told.end)),
    attributes: told.attributes ?? {},
  }
}

/** Pure. */
function modelSpan(one: Followed, body: ModelCalled, event: FleetEvent): Span {
  const began = body.started_at ?? event.at - body.duration_ms
  // What a stopped run had under way is settled once it has ended: that belongs to it, and no longer than it lasted.
  const end = Math.min(began + body.duration_ms, one.run.endedAt ?? event.at)
  const operation = body.operation ?? 'chat'
  const attributes = {
    [genAi.operation]: operation,
    [genAi.provider]: body.model.split('/', 1)[0] ?? '',
    [genAi.requestModel]: body.model,
    [genAi.inputTokens]: body.prompt_tokens ?? 0,
    [genAi.outputTokens]: body.completion_tokens ?? 0,
    [own.costUsd]: body.cost_usd,
    ...(body.unconfirmed === undefined ? {} : { [own.unconfirmed]: true }),
  }
  const name = `${operation} ${body.model}`
  const part = String(event.seq)
  return { ...partOf(one, { name, at: Math.min(began, end), end, part, attributes }), kind: 'client' }
}

/** `ok` is null for one whose end nobody heard. */
function toolSpan(
  one: Followed,
  { tool, at, bySubagent }: OpenTool,
  told: { readonly end: number; readonly ok: boolean | null; readonly part: string },
): Span {
  const attributes = {
    [genAi.operation]: 'execute_tool',
    [genAi.toolName]: tool,
    ...(bySubagent ? { [own.bySubagent]: true } : {}),
    ...(told.ok === null ? { [own.cutOff]: true } : {}),
  }
  const part = partOf(one, { name: `execute_tool ${tool}`, at, end: told.end, part: told.part, attributes })
  return { ...part, status: told.ok === null ? 'unset' : told.ok ? 'ok' : 'error' }
}

/** The whole run, from its row to its outcome, or to `now` while it has none. Pure. */
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
