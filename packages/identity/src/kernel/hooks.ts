import { spawnedPrefix } from '@flotilla/protocol/ids'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { Origin } from '@flotilla/protocol/origin'
import type { RunKind, RunOutcome, RunState } from '@flotilla/protocol/run'
import type { TaskOutcome, TaskState } from '@flotilla/protocol/task-actions'
import type { Action, Caller, HumanCaller, Membership } from '../access/index.ts'
import type { Log } from '@flotilla/foundation/platform'
import { createAwaitedHook, createHook, createNotice, createQuestion } from './hook.ts'
import type { AwaitedHook, Hook, Question } from './hook.ts'

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

/** The current permissions of a person, from the people file. */
export type PersonNow = Pick<HumanCaller, 'role' | 'agents'>

/** The result of work that an agent delivered. */
export interface WorkFeedback {
  /** Increases with every piece of feedback; the agent skips feedback that it has recorded already. */
  readonly position: number
  readonly taskId: string
  readonly title: string
  readonly outcome: TaskOutcome
  readonly comment: string
  readonly by: string
}

/**
 * A sandbox that ended while it worked, or whose tokens were revoked before it is ended. Its work was interrupted and
 * can be sent again.
 */
export interface SandboxGone {
  readonly agentId: string
  readonly reason: 'died' | 'stopped' | 'restarted' | 'deleted'
}

/** An agent that is about to be created; its row does not exist yet. */
interface PlannedAgent {
  readonly agentId: string
  /** The heartbeat schedule; null for no heartbeats; undefined for the default: a worker has no heartbeats. */
  readonly heartbeat: string | null | undefined
}

/** All hooks between modules. Each comment names the module that publishes or asks. */
export interface Hooks extends AgentHooks, BriefingHooks, RunHooks, WorkHooks, AccessHooks, ReportHooks {}

/** Hooks about agents and their sandboxes. */
interface AgentHooks {
  /**
   * Published by `agents` before the row is written, to create files. `agentUnplanned` follows if the row cannot be
   * written.
   */
  readonly agentPlanned: AwaitedHook<PlannedAgent>
  /** Published by `agents` when the row could not be written, also if nothing was planned for the agent. */
  readonly agentUnplanned: AwaitedHook<string>
  /** Published by `agents` when a person opened a terminal to the agent, which can change files and start runs. */
  readonly agentReached: Hook<string>
  /** Published by `agents`, outside of transactions. A listener that throws is logged. */
  readonly sandboxGone: Hook<SandboxGone>
  /**
   * Published by `agents` before anything of the agent is deleted. Rejects with the problem of a store that cannot
   * delete its data now.
   */
  readonly agentLeaving: AwaitedHook<string>
  /** Published by `agents` when files no longer contain data of the agent. Repeated after an interrupted deletion. */
  readonly agentFilesDropped: AwaitedHook<string>
  /** Published by `agents`, in the transaction that deletes the agent's row. */
  readonly agentDeleted: Hook<string>
  /** Published by `agents` in the transaction of the audit record: the agent is archived and can be restored. */
  readonly agentArchived: Hook<string>
  /** Published by `agents`: a message that the owner must see, in the transaction of the change that it reports. */
  readonly ownerNoticed: Hook<{ readonly agentId: string; readonly message: string }>
  /**
   * Published by `credentials`: a message of an agent to the owner, in the transaction of the request that it
   * reports.
   */
  readonly agentNotedOwner: Hook<{ readonly caller: Caller; readonly message: string }>
  /** Asked by `agents` before it hibernates an agent: reasons to keep the agent awake. Without one it hibernates. */
  readonly reasonsToStayAwake: Question<string, string>
  /** Asked by `agents`: the capabilities that an agent declares. */
  readonly agentCapabilities: Question<string, string>
}

/** Hooks for the bootstrap files of an agent. */
interface BriefingHooks {
  /** Asked by `agents`: feedback on the agent's work, oldest first. */
  readonly feedbackFor: Question<string, WorkFeedback>
  /** Asked by `agents`: the content of PROJECT.md. */
  readonly projectTexts: Question<string, string>
}

/** Hooks about runs. */
interface RunHooks {
  /** Asked by `runs` when a run is submitted or steered: reasons why this agent gets only its own work. */
  readonly reasonsToGiveNoWork: Question<string, string>
  /** Published by `runs`, in the transaction that settles the run. */
  readonly runSettled: Hook<SettledRun>
  /** Published by `runs`: an agent ended its turn with entries for the blackboard. */
  readonly entriesPromoted: Hook<{
    readonly runId: string
    readonly agentId: string
    readonly entries: JsonObject
  }>
  /** Asked by `runs`: ids that a run waits for, other than the tasks that it handed off. */
  readonly runAwaits: Question<string, string>
  /**
   * Asked by `runs` and all triggers: reasons against starting proactive work of this agent. Without a reason the
   * work starts.
   */
  readonly reasonsToPause: Question<string, string>
}

/** Hooks about tasks and about the files saved during work. */
interface WorkHooks {
  /** Published by `tasks`, in the transaction that changes the task. */
  readonly taskChanged: Hook<ChangedTask>
  /** Asked by `tasks`: the number of model calls of a task. */
  readonly callsOfTask: Question<string, number>
  /** Published by `artifacts` in the transaction of its row; `runId` is null if the agent saved it outside a run. */
  readonly artifactSaved: Hook<{
    readonly agentId: string
    readonly name: string
    readonly runId: string | null
  }>
}

/** Hooks about the parents of agents and the permissions of people. */
interface AccessHooks {
  /** Asked for decisions about an agent: its parent, if another agent spawned it. */
  readonly makersOf: Question<string, string>
  /**
   * Asked by `tasks` before work starts later on behalf of a person: their current permissions, or no answer for a
   * removed person. Throws the problem `unprocessable` while this cannot be determined.
   */
  readonly personOf: Question<string, PersonNow>
  /**
   * Published by `people` once the file no longer names a person, so that modules can clean up what belongs to them.
   */
  readonly personLeft: AwaitedHook<string>
  /** Published by the guard for every refusal. Only for counts; no decision may depend on it. */
  readonly callDenied: Hook<{ readonly caller: Caller; readonly action: Action }>
  /** Asked by the guard: the project of an agent, from its row. */
  readonly projectOf: Question<string, Membership>
  /**
   * Asked by `tasks` for a project name: when the project was created, in milliseconds since 1970; no answer if it
   * does not exist.
   */
  readonly projectsSince: Question<string, number>
  /**
   * Published by `agents` and `spending`, in the transaction of the change: an agent moved to another project, or to
   * none.
   */
  readonly membershipChanged: Hook<{ readonly agentId: string; readonly project: string | null }>
  /** Published by `projects`, in the transaction that deletes the project, so that modules delete its data. */
  readonly projectDeleted: Hook<string>
}

/** Something that a caller has just changed; the answer of that call includes notices about it. */
export type SetThing =
  | { readonly kind: 'permissions'; readonly agentId: string }
  | {
      readonly kind: 'budget'
      /** The name of the budget for people, such as `the daily budget of scout`. */
      readonly name: string
      /** Null for the budget of a project or of the fleet. */
      readonly agentId: string | null
      readonly dailyUsd: number | null
      readonly monthlyUsd: number | null
    }

/** Hooks that bring records up to date before costs and audit log are read. */
interface ReportHooks {
  /** Published before costs are reported, so that pending costs are written first. */
  readonly costsAsked: Hook<void>
  /**
   * Answered by `egress`: reasons why the outbound filter would reject this address for that agent (null for any
   * agent), and what would allow it.
   */
  readonly outboundDoubts: Question<{ readonly url: URL; readonly agentId: string | null }, string>
  /** Answered by `diagnostics`: why a change has no effect, one sentence each with its repair. */
  readonly setNotices: Question<SetThing, string>
  /** Published before the audit log is exported, so that it contains all costs up to now. */
  readonly journalAsked: Hook<void>
}

/** The agent that spawned this one, or null. */
export function makerOf({ makersOf }: Pick<Hooks, 'makersOf'>, agentId: string): string | null {
  return agentId.startsWith(spawnedPrefix) ? (makersOf.ask(agentId)[0] ?? null) : null
}

/** The root ancestor of an agent; what the owner set for it applies to all its descendants. */
export function rootOf(hooks: Pick<Hooks, 'makersOf'>, agentId: string): string {
  const maker = makerOf(hooks, agentId)
  return maker === null || maker === agentId ? agentId : rootOf(hooks, maker)
}

/** Returns the reason why proactive work of the agent is paused now, as text; null if there is no reason. */
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
      log.error(
        { agentId, err: error },
        'a module failed to process the loss of a sandbox; the other modules processed it',
      ),
    ),
    agentLeaving: createAwaitedHook(),
    agentFilesDropped: createAwaitedHook(),
    agentDeleted: createHook(),
    agentArchived: createHook(),
    makersOf: createQuestion(),
    reasonsToGiveNoWork: createQuestion(),
    outboundDoubts: createQuestion(),
    setNotices: createQuestion(),
    ownerNoticed: createHook(),
    agentNotedOwner: createHook(),
    reasonsToStayAwake: createQuestion(),
    runSettled: createHook(),
    artifactSaved: createHook(),
    taskChanged: createHook(),
    feedbackFor: createQuestion(),
    callsOfTask: createQuestion(),
    personOf: createQuestion(),
    personLeft: createAwaitedHook(),
    projectTexts: createQuestion(),
    callDenied: createHook(),
    projectOf: createQuestion(),
    membershipChanged: createHook(),
    projectDeleted: createHook(),
    projectsSince: createQuestion(),
    costsAsked: createHook(),
    journalAsked: createHook(),
    entriesPromoted: createHook(),
    runAwaits: createQuestion(),
    agentCapabilities: createQuestion(),
    reasonsToPause: createQuestion(),
  }
}
