import { spawnedPrefix } from '@flotilla/protocol/ids'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { Origin } from '@flotilla/protocol/origin'
import type { RunKind, RunOutcome, RunState } from '@flotilla/protocol/run'
import type { TaskOutcome, TaskState } from '@flotilla/protocol/task-actions'
import type { Action, Caller, HumanCaller, Membership } from '../access/index.ts'
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

/** A task that has moved, or was judged; the rows are written in the same transaction. */
export interface ChangedTask {
  readonly id: string
  readonly assignee: string
  readonly creator: string
  readonly project: string | null
  readonly state: TaskState
  readonly before: TaskState
}

/** What a person may now, by the file that names people. */
export type PersonNow = Pick<HumanCaller, 'role' | 'agents'>

/** What became of work that an agent handed in. */
export interface WorkFeedback {
  /** Rises with every row; by it an agent knows what it has taken down already. */
  readonly position: number
  readonly taskId: string
  readonly title: string
  readonly outcome: TaskOutcome
  readonly comment: string
  readonly by: string
}

/** A sandbox that worked is no more: whatever ran in it was cut off and can be sent again. */
export interface SandboxGone {
  readonly agentId: string
  readonly reason: 'died' | 'stopped' | 'restarted' | 'deleted'
}

/** An agent that is about to be made: its row is not there yet. */
interface PlannedAgent {
  readonly agentId: string
  /** Its schedule; null for none, undefined for the default. */
  readonly heartbeat: string | null | undefined
}

/** Everything that one module is told of another, in one place. Who tells it stands with each. */
export interface Hooks extends AgentHooks, BriefingHooks, RunHooks, WorkHooks, AccessHooks, ReportHooks {}

/** What is told and asked about agents and their sandboxes. */
interface AgentHooks {
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
  /** By `agents`, in the transaction that says so in the journal: it is put away, and may be taken back. */
  readonly agentArchived: Hook<string>
  /** By `agents`: something that people have to know, in the transaction that makes it so. */
  readonly ownerTold: Hook<{ readonly agentId: string; readonly message: string }>
  /** By `agents`, before it puts one to sleep: what is going on in it; no answer lets it sleep. */
  readonly reasonsToStayAwake: Question<string, string>
  /** By `agents`: what an agent says that it can. */
  readonly agentCapabilities: Question<string, string>
}

/** For what an agent is told at its start. */
interface BriefingHooks {
  /** By `agents`, for an agent's briefing: what was said of its work, oldest first. */
  readonly feedbackFor: Question<string, WorkFeedback>
  /** By `agents`, for an agent's briefing: PROJECT.md. */
  readonly projectTexts: Question<string, string>
}

/** About runs. */
interface RunHooks {
  /** By `runs`, of whoever submits or steers one: why this agent is given none but its own, in words. */
  readonly reasonsToGiveNoWork: Question<string, string>
  /** By `runs`, in the transaction that settles. */
  readonly runSettled: Hook<SettledRun>
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

/** About tasks, and what is saved in the course of work. */
interface WorkHooks {
  /** By `tasks`, in the transaction that moves it. */
  readonly taskChanged: Hook<ChangedTask>
  /** By `tasks`: how many calls of models a task has made. */
  readonly callsOfTask: Question<string, number>
  /** By `artifacts`, in the transaction that writes its row; `runId` is null where the agent saved it in no run. */
  readonly artifactSaved: Hook<{
    readonly agentId: string
    readonly name: string
    readonly runId: string | null
  }>
}

/** About whose agent one is, and what people may. */
interface AccessHooks {
  /** By everybody who decides what an agent may: who made it, where an agent did. */
  readonly makersOf: Question<string, string>
  /**
   * By `tasks`, of what begins later in the name of a person: what they may at that moment; no answer for one who is
   * nobody any more. Throws the Problem `unprocessable` while that cannot be known.
   */
  readonly personOf: Question<string, PersonNow>
  /** By `people`, once the file names them no more: whoever keeps something in their name sees to it. */
  readonly personLeft: AwaitedHook<string>
  /** By the guard, of every refusal: for counts, nothing may be decided by it. */
  readonly callDenied: Hook<{ readonly caller: Caller; readonly action: Action }>
  /** By the guard: the project of an agent, by its row. */
  readonly projectOf: Question<string, Membership>
  /** By `tasks`, of a name: since when there is this project, milliseconds since 1970; no answer where there is none. */
  readonly projectsSince: Question<string, number>
  /** By `agents` and `spending`, in the transaction that writes it: an agent belongs to another project, or to none. */
  readonly membershipChanged: Hook<{ readonly agentId: string; readonly project: string | null }>
  /** By `projects`, in the transaction that deletes it: whoever keeps something of a project lets go of it. */
  readonly projectDeleted: Hook<string>
}

/** Before money and the journal are reported. */
interface ReportHooks {
  /** By whoever is about to tell what something cost: what still waits to be written is written first. */
  readonly costsAsked: Hook<void>
  /** Why the outbound filter would refuse this address to that agent, null for any, and what opens it. Answered by `egress`. */
  readonly outboundDoubts: Question<{ readonly url: URL; readonly agentId: string | null }, string>
  /** Before the journal is read out: what was spent up to now is in it too. */
  readonly journalAsked: Hook<void>
}

/** Who made the agent, where an agent did, else null. */
export function makerOf({ makersOf }: Pick<Hooks, 'makersOf'>, agentId: string): string | null {
  return agentId.startsWith(spawnedPrefix) ? (makersOf.ask(agentId)[0] ?? null) : null
}

/** Whose agent it is in the end: what the owner set for that one holds for all that come of it. */
export function rootOf(hooks: Pick<Hooks, 'makersOf'>, agentId: string): string {
  const maker = makerOf(hooks, agentId)
  return maker === null || maker === agentId ? agentId : rootOf(hooks, maker)
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
    ownerTold: createHook(),
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
