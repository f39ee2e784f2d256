import type { TaskResult } from '@flotilla/protocol/agent-api'
import type { Origin } from '@flotilla/protocol/origin'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import type { RunInput, RunKind, RunOutcome, RunState } from '@flotilla/protocol/run'
import { runLimits } from '../run-limits.ts'

/** Maximum text of an outcome, characters, so that no agent can fill the ledger. */
const textMaxChars = 100_000
const codeMaxChars = 64

/** What model calls add to a run. `unconfirmed…` is the part that was reserved for calls of unknown usage. */
export interface RunCost {
  readonly costUsd: number
  readonly tokens: number
  readonly unconfirmedUsd?: number
  readonly unconfirmedTokens?: number
  /** The part that a harness reported. */
  readonly reportedTokens?: number
}

/** A stored run. Times are milliseconds since 1970. */
export interface RunRecord {
  readonly id: string
  readonly agentId: string
  readonly kind: RunKind
  readonly origin: Origin
  readonly input: RunInput
  readonly state: RunState
  /** The attempt of the current turn, from 1: an interruption adds one, and each new turn starts at 1. */
  readonly attempt: number
  /** The turn: 0 for the run's input; each continuation with results of child runs adds one. */
  readonly turn: number
  /** The fencing token, which rises with every dispatch of a run of this agent; 0 before the first dispatch. */
  readonly fence: number
  readonly leaseUntil: number | null
  readonly parentId: string | null
  readonly taskId: string | null
  /** The number of hand-offs between this run and the run that a caller outside the fleet started. */
  readonly depth: number
  /** True if the run descends from a trigger and no person requested it; a pause of the agent holds such runs. */
  readonly proactive: boolean
  readonly budgetUsd: number | null
  readonly budgetTokens: number | null
  readonly traceId: string
  readonly createdAt: number
  readonly queuedSince: number
  /** The run is not dispatched before this time. An interruption sets a time after `queuedSince`. */
  readonly availableAt: number
  readonly waitingSince: number | null
  readonly startedAt: number | null
  readonly turnStartedAt: number | null
  readonly endedAt: number | null
  /** Text of the last turn that ended without ending the run. */
  readonly interimText: string | null
  readonly outcome: RunOutcome | null
  readonly tokensUsed: number
  readonly costUsd: number
  /** The parts of cost and tokens that were reserved for calls whose usage the provider never reported. */
  readonly unconfirmedUsd: number
  readonly unconfirmedTokens: number
  /** The part of `tokensUsed` that a harness reported of calls outside of the mesh. */
  readonly reportedTokens: number
}

export type RunEvent =
  /** The lane claimed the run in order to send it to its agent with the new fencing token `fence`. */
  | { readonly kind: 'dispatched'; readonly fence: number }
  /** The run could not be sent, which is not the agent's fault; no attempt is used. */
  | { readonly kind: 'postponed'; readonly availableAt: number }
  /** The agent was lost during the run (R2). After the last attempt this event is refused, and the run is settled. */
  | { readonly kind: 'interrupted'; readonly availableAt: number }
  /** The run's turn ended while its child tasks are open; the lane is free for another run. */
  | { readonly kind: 'parked'; readonly interimText: string }
  /** The run's turn ended, and new notes for the run had arrived, so the run continues. */
  | { readonly kind: 'continued'; readonly interimText: string }
  /** A note arrived while the run waited. */
  | { readonly kind: 'resumed' }
  | { readonly kind: 'settled'; readonly outcome: RunOutcome }

/** The states in which each event is allowed. `settled` is allowed in every state that is not terminal (R4). */
const allowedIn = {
  dispatched: ['queued'],
  postponed: ['running'],
  interrupted: ['running'],
  parked: ['running'],
  continued: ['running'],
  resumed: ['waiting'],
  settled: ['queued', 'running', 'waiting'],
} as const satisfies Record<RunEvent['kind'], readonly RunState[]>

/** Returns the run after the event, or null if the run's state does not allow the event. Pure. */
export function transition(run: RunRecord, event: RunEvent, now: number): RunRecord | null {
  if (!(allowedIn[event.kind] as readonly RunState[]).includes(run.state)) return null
  switch (event.kind) {
    case 'dispatched':
      return {
        ...run,
        state: 'running',
        fence: event.fence,
        leaseUntil: now + runLimits.leaseMs,
        startedAt: run.startedAt ?? now,
        turnStartedAt: now,
      }
    case 'postponed':
      return { ...run, state: 'queued', leaseUntil: null, availableAt: event.availableAt }
    case 'interrupted':
      if (run.attempt >= runLimits.runAttemptsMax) return null
      return queuedAgain(run, now, { attempt: run.attempt + 1, availableAt: event.availableAt })
    case 'parked':
      return {
        ...run,
        state: 'waiting',
        leaseUntil: null,
        waitingSince: now,
        interimText: event.interimText,
      }
    case 'continued':
      return queuedAgain(run, now, { turn: run.turn + 1, attempt: 1, interimText: event.interimText })
    case 'resumed':
      return queuedAgain(run, now, { turn: run.turn + 1, attempt: 1 })
    case 'settled':
      return {
        ...run,
        state: event.outcome.status,
        leaseUntil: null,
        waitingSince: null,
        endedAt: now,
        outcome: event.outcome,
      }
  }
}

function queuedAgain(run: RunRecord, now: number, changes: Partial<RunRecord>): RunRecord {
  return {
    ...run,
    state: 'queued',
    leaseUntil: null,
    waitingSince: null,
    queuedSince: now,
    availableAt: now,
    ...changes,
  }
}

/** Converts an agent's result into an outcome. Cost and tokens are those that the mesh counted. Pure. */
export function outcomeOf(result: TaskResult): RunOutcome {
  const answer = {
    text: (result.response || result.error?.detail || '').slice(0, textMaxChars),
    ...(result.result === null ? {} : { result: result.result }),
  }
  switch (result.status) {
    case 'complete':
      return { status: 'done', ...answer }
    case 'cancelled':
      return { status: 'cancelled', ...answer, code: 'cancelled' }
    case 'timeout':
      return { status: 'failed', ...answer, code: codeOf(result, 'upstream-timeout') }
    case 'failed':
      return { status: 'failed', ...answer, code: codeOf(result, 'internal-error') }
  }
}

function codeOf(result: TaskResult, otherwise: ProblemCode): string {
  return result.error?.code.slice(0, codeMaxChars) || otherwise
}

/** Returns an outcome that the mesh decides, with the text that the run produced so far. Pure. */
export function failedOutcome(run: RunRecord, code: ProblemCode, why: string): RunOutcome {
  return { status: 'failed', code, text: withInterim(run, why) }
}

export function withInterim(run: RunRecord, why: string): string {
  return run.interimText ? `${why}\n\nSaid so far: ${run.interimText}` : why
}
