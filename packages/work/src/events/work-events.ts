import { createDomainEvent, createQuestion } from '@flotilla/foundation/events'
import type { DomainEvent, Question } from '@flotilla/foundation/events'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { Origin } from '@flotilla/protocol/origin'
import type { RunKind, RunOutcome, RunState } from '@flotilla/protocol/run'
import type { TaskState } from '@flotilla/protocol/task-actions'
import type { FleetKernel } from '@flotilla/fleet/events'

/** A run with its outcome, which is written in the same transaction. */
export interface SettledRun {
  readonly id: string
  readonly agentId: string
  readonly kind: RunKind
  readonly origin: Origin
  readonly state: RunState
  readonly outcome: RunOutcome | null
}

/** A task that changed its state or was reviewed; the rows are written in the same transaction. */
export interface ChangedTask {
  readonly id: string
  readonly assignee: string
  readonly creator: string
  readonly project: string | null
  readonly state: TaskState
  readonly before: TaskState
}

/** A message to an agent at work that the agent never reads, because a person cancelled the run. */
export interface ReturnedSteer {
  readonly id: string
  readonly agentId: string
  readonly origin: Origin
  readonly text: string
}

/** The events that work publishes about runs and tasks, and the questions that it asks the contexts above. */
export interface WorkEvents {
  /** Published in the transaction that settles the run. */
  readonly runSettled: DomainEvent<SettledRun>
  /** Published in the transaction that settles the run that the message was sent to. */
  readonly steerReturned: DomainEvent<ReturnedSteer>
  /** Published when an agent ended its turn with entries for the blackboard. */
  readonly entriesPromoted: DomainEvent<{
    readonly runId: string
    readonly agentId: string
    readonly entries: JsonObject
  }>
  /** Published in the transaction that changes the task. */
  readonly taskChanged: DomainEvent<ChangedTask>
  /** Published before costs are reported, so that pending costs are written first. */
  readonly costsRequested: DomainEvent<void>
  /**
   * Asked when a run is submitted or steered: reasons why this agent gets no work other than the run that it was
   * spawned for.
   */
  readonly reasonsToGiveNoWork: Question<string, string>
  /** Asked by runs and all triggers: reasons against starting proactive work of this agent now. */
  readonly reasonsToPause: Question<string, string>
  /** The ids of everything that a run waits for, other than the tasks that it handed off. */
  readonly runAwaits: Question<string, string>
  /** The number of model calls of a task. */
  readonly callsOfTask: Question<string, number>
  /** The most that the open model calls of a run may use; no answer without open calls. */
  readonly openUsageOfRun: Question<string, { readonly tokens: number; readonly usd: number }>
  /** When a project was created, in milliseconds since 1970; no answer if it does not exist. */
  readonly projectsSince: Question<string, number>
}

/** What modules that use these events receive: the kernel, with the events of contexts below. */
export interface WorkKernel extends FleetKernel {
  readonly workEvents: WorkEvents
}

export function createWorkEvents(): WorkEvents {
  return {
    runSettled: createDomainEvent(),
    steerReturned: createDomainEvent(),
    entriesPromoted: createDomainEvent(),
    taskChanged: createDomainEvent(),
    costsRequested: createDomainEvent(),
    reasonsToGiveNoWork: createQuestion(),
    reasonsToPause: createQuestion(),
    runAwaits: createQuestion(),
    callsOfTask: createQuestion(),
    openUsageOfRun: createQuestion(),
    projectsSince: createQuestion(),
  }
}

/** Returns the reason why proactive work of the agent is paused now, as text; null if there is no reason. */
export function reasonToPause(
  { reasonsToPause }: Pick<WorkEvents, 'reasonsToPause'>,
  agentId: string,
): string | null {
  return reasonsToPause.ask(agentId)[0] ?? null
}
