import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import type { ApprovalView } from '@flotilla/protocol/agent-edit'
import type { ChannelName, PersonRole } from '@flotilla/protocol/people'
import type { Action, Decision, Guard, HumanCaller } from '@flotilla/identity/access'
import type { RunLifecycle, RunQueries, RunQueue, RunSteering, Runs } from '@flotilla/work/runs'
import type { Spending } from '@flotilla/inference/spending'
import type { ChannelButton, ConversationPlace } from '../adapter.ts'
import type { RunPlaces } from '../delivery/run-places.ts'
import type { PlainMessage } from '../messages/plain-message.ts'
import type { TalkTable } from '../messages/talk-table.ts'

/** The functions that commands call. They check permissions themselves, and the routes for people call them too. */
export interface CommandDeps {
  readonly guard: Guard
  readonly decide: (caller: HumanCaller, action: Action) => Decision
  readonly runs: Pick<RunQueue, 'submitRun'> &
    Pick<RunSteering, 'steerRun'> &
    Pick<RunLifecycle, 'cancelRun'> &
    Pick<RunQueries, 'find' | 'view'> &
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
  /** The person's name in `config/people.json`. */
  readonly person: string
  readonly message: PlainMessage
  /** The text after the name of the command. */
  readonly argument: string
}

export interface CommandReply {
  /** The text of the reply; empty if the outcome of the run is sent instead. */
  readonly text: string
  readonly buttons?: readonly ChannelButton[]
  /** The run that the command started, for the message's row. */
  readonly runId?: string
  readonly became?: 'run' | 'steer'
  /** The direct conversation that gets the text. The conversation of the message then gets only a hint. */
  readonly aloneAt?: ConversationPlace
}

export interface ChannelCommand {
  readonly name: string
  /** The arguments, as the help text shows them. */
  readonly usage: string
  readonly help: string
  /** Set if the answer has figures or a list of the fleet, so that it is sent only to a direct conversation. */
  readonly answersAlone?: true
  /** The minimum role of the person. The functions that `run` calls check access to the agent. */
  readonly role: PersonRole
  /**
   * `at-once`: only database writes, in one transaction with the message's row. `later`: an effect outside the
   * database, started after the row was committed and repeated after a crash, so it must be idempotent.
   */
  readonly when: 'at-once' | 'later'
  /**
   * Returns actions whose permissions are checked before any transaction, so that the record of a
   * refusal is not rolled back with the message's row. Throws Problems as `run` does.
   */
  readonly asks?: (deps: CommandDeps, call: CommandCall) => readonly Action[]
  /** Carries out the command and returns the reply. Throws Problems, which the sender gets as text. */
  readonly run: (deps: CommandDeps, call: CommandCall) => CommandReply | Promise<CommandReply>
}
