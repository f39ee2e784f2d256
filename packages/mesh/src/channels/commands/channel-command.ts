import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import type { ApprovalView } from '@flotilla/protocol/agent-edit'
import type { ChannelName, PersonRole } from '@flotilla/protocol/people'
import type { Action, Decision, Guard, HumanCaller } from '../../access/index.ts'
import type { RunLifecycle, RunQueries, RunQueue, RunSteering, Runs } from '../../runs/index.ts'
import type { Spending } from '../../spending/index.ts'
import type { ChannelButton, ConversationPlace } from '../adapter.ts'
import type { RunPlaces } from '../delivery/run-places.ts'
import type { PlainMessage } from '../intake/plain-message.ts'
import type { TalkTable } from '../intake/talk-table.ts'

/** What commands call; each is the use case that people's routes call too, and decides by itself. */
export interface CommandDeps {
  readonly guard: Guard
  readonly decide: (caller: HumanCaller, action: Action) => Decision
  readonly runs: Pick<RunQueue, 'submitRun'> &
    Pick<RunSteering, 'steerRun'> &
    Pick<RunLifecycle, 'cancelRun'> &
    Pick<RunQueries, 'find'> &
    Pick<Runs, 'sessions'>
  readonly agents: () => readonly AgentView[]
  readonly approvals: {
    list(
      caller: HumanCaller,
      page: { readonly open: boolean; readonly limit: number },
    ): readonly ApprovalView[]
  }
  readonly report: Spending['report']
  readonly talks: TalkTable
  readonly places: RunPlaces
  readonly now: () => number
}

export interface CommandCall {
  readonly caller: HumanCaller
  readonly channel: ChannelName
  /** By their name in `config/people.json`. */
  readonly person: string
  readonly message: PlainMessage
  /** What stands behind the name of the command. */
  readonly argument: string
}

export interface CommandReply {
  /** Empty where the outcome of the run will say it. */
  readonly text: string
  readonly buttons?: readonly ChannelButton[]
  /** What it began, for the message's row. */
  readonly runId?: string
  readonly became?: 'run' | 'steer'
  /** A direct conversation that gets the text instead of the place of the message, which gets a hint. */
  readonly aloneAt?: ConversationPlace
}

export interface ChannelCommand {
  readonly name: string
  /** What is written behind the name. */
  readonly usage: string
  readonly help: string
  /** Its answer holds figures or a list of the fleet: in a group it is told only in a direct conversation. */
  readonly answersAlone?: true
  /** The least role that may; the use case decides about the agent. */
  readonly role: PersonRole
  /**
   * `at-once`: rows alone, in one transaction with the message's own. `later`: something outside of the database, begun once
   * the message's row stands, and again after a mesh died over it; so it must bear to be done twice.
   */
  readonly when: 'at-once' | 'later'
  /**
   * What the guard is asked besides, before any transaction: the record of a refusal must not roll back with the message's
   * row. Throws Problems as `run` does.
   */
  readonly asks?: (deps: CommandDeps, call: CommandCall) => readonly Action[]
  /** Throws Problems, which are told in words. */
  readonly run: (deps: CommandDeps, call: CommandCall) => CommandReply | Promise<CommandReply>
}
