import type { TaskResult } from '@flotilla/protocol/agent-api'
import { wireLimits } from '@flotilla/protocol/limits'
import type { Origin } from '@flotilla/protocol/origin'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import type { RunInput, RunKind, RunOutcome, RunState } from '@flotilla/protocol/run'

/** Maximum text of an outcome, characters, so that an agent cannot fill the ledger. */
const textMaxChars = 100_000
const codeMaxChars = 64

/** A run as the ledger keeps it. Times are milliseconds since 1970. */
export interface RunRecord {
  readonly id: string
  readonly agentId: string
  readonly kind: RunKind
  readonly origin: Origin
  readonly input: RunInput
  readonly state: RunState
  /** 1 for the first try of a turn; an interruption adds one, a new turn starts again. */
  readonly attempt: number
  /** 0 for the input itself, then one for each continuation with results of children. */
  readonly turn: number
  /** The fencing token; rises with every dispatch of its agent, 0 before the first. */
  readonly fence: number
  readonly leaseUntil: number | null
  readonly parentId: string | null
  readonly taskId: string | null
  /** Hand-offs between this run and the one that someone outside started. */
  readonly depth: number
  /** Started by a trigger, or by a run that was; held while its agent is paused. */
  readonly proactive: boolean
  readonly budgetUsd: number | null
  readonly budgetTokens: number | null
  readonly traceId: string
  readonly createdAt: number
  readonly queuedSince: number
  /** Not dispatched before; later than `queuedSince` after an interruption. */
  readonly availableAt: number
  readonly waitingSince: number | null
  readonly startedAt: number | null
  readonly turnStartedAt: number | null
  readonly endedAt: number | null
  /** Text of the last turn that did not end the run. */
  readonly interimText: string | null
  readonly outcome: RunOutcome | null
  readonly tokensUsed: number
  readonly costUsd: number
}

export type RunEvent =
  /** The lane took it; `fence` is new. */
  | { readonly kind: 'dispatched'; readonly fence: number }
  /** It could not be sent for a reason that is not the agent's fault: no attempt is used. */
  | { readonly kind: 'postponed'; readonly availableAt: number }
  /** The agent was lost in mid-run (invariant R2). Refused on the last attempt: such a run is settled. */
  | { readonly kind: 'interrupted'; readonly availableAt: number }
  /** Its turn ended while children are open: the lane is free. */
  | { readonly kind: 'parked'; readonly interimText: string }
  /** Its turn ended and new notes exist for it already. */
  | { readonly kind: 'continued'; readonly interimText: string }
  /** A note arrived while it waited. */
  | { readonly kind: 'resumed' }
  | { readonly kind: 'settled'; readonly outcome: RunOutcome }

/** Which event is allowed in which state. `settled` is allowed in every state that is not terminal (R4). */
const allowedIn = {
  dispatched: ['queued'],
  postponed: ['running'],
  interrupted: ['running'],
  parked: ['running'],
  continued: ['running'],
  resumed: ['waiting'],
  settled: ['queued', 'running', 'waiting'],
} as const satisfies Record<RunEvent['kind'], readonly RunState[]>

/** The run after the event, or null where its state does not allow it. Pure. */
export function transition(run: RunRecord, event: RunEvent, now: number): RunRecord | null {
  if (!(allowedIn[event.kind] as readonly RunState[]).includes(run.state)) return null
  switch (event.kind) {
    case 'dispatched':
      return {
        ...run,
        state: 'running',
        fence: event.fence,
        leaseUntil: now + wireLimits.leaseMs,
        startedAt: run.startedAt ?? now,
        turnStartedAt: now,
      }
    case 'postponed':
      return { ...run, state: 'queued', leaseUntil: null, availableAt: event.availableAt }
    case 'interrupted':
      if (run.attempt >= wireLimits.runAttemptsMax) return null
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

/** Converts an agent's result into an outcome. Cost and tokens are the mesh's own count. Pure. */
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

/** An outcome that the mesh decides; text that the run produced so far stays readable. Pure. */
export function failedOutcome(run: RunRecord, code: ProblemCode, why: string): RunOutcome {
  return { status: 'failed', code, text: withInterim(run, why) }
}

export function withInterim(run: RunRecord, why: string): string {
  return run.interimText ? `${why}\n\nSaid so far: ${run.interimText}` : why
}
