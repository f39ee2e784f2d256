import type { JsonObject } from '@flotilla/protocol/json-value'
import type { Origin } from '@flotilla/protocol/origin'
import type { RunKind, RunOutcome, RunState } from '@flotilla/protocol/run'
import type { Log } from '../platform/index.ts'
import { createAwaitedHook, createHook, createNotice, createQuestion } from './hook.ts'
import type { AwaitedHook, Hook, Question } from './hook.ts'

/** A run that has its outcome; the row is written in the same transaction. */
export interface SettledRun {
  readonly id: string
  readonly agentId: string
  readonly kind: RunKind
  readonly origin: Origin
  readonly state: RunState
  readonly outcome: RunOutcome | null
}

/** A sandbox that worked is no more: whatever ran in it was cut off and can be sent again. */
export interface SandboxGone {
  readonly agentId: string
  readonly reason: 'died' | 'stopped' | 'restarted' | 'deleted'
}

/** An agent that is about to be made: its row is not there yet. */
export interface PlannedAgent {
  readonly agentId: string
  /** Its schedule; null for none, undefined for the default. */
  readonly heartbeat: string | null | undefined
}

/** Everything that one module is told of another, in one place. Who tells it stands with each. */
export interface Hooks {
  /** By `agents`, before the row: what an agent needs in files. Who was told must also hear `agentUnplanned`. */
  readonly agentPlanned: AwaitedHook<PlannedAgent>
  /** By `agents`: the row could not be written. May be told of an agent that nobody planned anything for. */
  readonly agentUnplanned: AwaitedHook<string>
  /** By `agents`: somebody got a line to the agent to change something there, runs too. */
  readonly agentReached: Hook<string>
  /** By `agents`, outside of transactions. A listener that throws is logged. */
  readonly sandboxGone: Hook<SandboxGone>
  /** By `agents`, before anything of the agent is taken away: rejects with the Problem of a store that cannot let go of it now. */
  readonly agentLeaving: AwaitedHook<string>
  /** By `agents`: files that hold something of the agent are rid of it. Said again where a deletion broke off. */
  readonly agentFilesDropped: AwaitedHook<string>
  /** By `agents`, in the transaction that removes the agent's row. */
  readonly agentDeleted: Hook<string>
  /** By `runs`, in the transaction that settles. */
  readonly runSettled: Hook<SettledRun>
  /** By whoever is about to tell what something cost: what still waits to be written is written first. */
  readonly costsAsked: Hook<void>
  /** Before the journal is read out: what was spent up to now is in it too. */
  readonly journalAsked: Hook<void>
  /** By `runs`: an agent ended its turn with entries for the blackboard. */
  readonly entriesPromoted: Hook<{
    readonly runId: string
    readonly agentId: string
    readonly entries: JsonObject
  }>
  /** By `runs`: ids of what a run waits for beside the tasks that it gave. */
  readonly runAwaits: Question<string, string>
  /** By `runs` and all triggers: why nothing that nobody asked for begins of the agent now; no answer lets it begin. */
  readonly reasonsToPause: Question<string, string>
}

/** What holds back what nobody asked for at that moment, in words; null while nothing does. */
export function reasonToPause(
  { reasonsToPause }: Pick<Hooks, 'reasonsToPause'>,
  agentId: string,
): string | null {
  return reasonsToPause.ask(agentId)[0] ?? null
}

export function createHooks(log: Log): Hooks {
  return {
    agentPlanned: createAwaitedHook(),
    agentUnplanned: createAwaitedHook(),
    agentReached: createHook(),
    sandboxGone: createNotice((error, { agentId }) =>
      log.error({ agentId, err: error }, 'a module failed on a sandbox that is gone'),
    ),
    agentLeaving: createAwaitedHook(),
    agentFilesDropped: createAwaitedHook(),
    agentDeleted: createHook(),
    runSettled: createHook(),
    costsAsked: createHook(),
    journalAsked: createHook(),
    entriesPromoted: createHook(),
    runAwaits: createQuestion(),
    reasonsToPause: createQuestion(),
  }
}
