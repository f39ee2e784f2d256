import type { MessageView, SentMessage } from '@flotilla/protocol/message-api'
import { operatorAgentId } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { Caller } from '../../access/index.ts'
import { createAnswers } from './answer-message.ts'
import type { Answers } from './answer-message.ts'
import { createCapabilityTable } from './capability-table.ts'
import type { MessageDeps } from './message-deps.ts'
import { createMessageTable } from './message-table.ts'
import type { MessageRecord } from './message-table.ts'
import { createSendMessage } from './send-message.ts'
import type { SendMessage } from './send-message.ts'

/** Messages that are kept once they are answered or told; older ones are in the journal by id alone. */
const keptMax = 10_000
/** Of those that wait for the operator, how many one heartbeat tells of, and how much of each. */
const toldAtOnceMax = 10
const toldTextMaxChars = 1000

/** What a heartbeat is told of messages that began nothing. */
export interface KeptMessages {
  readonly count: number
  readonly oldest: readonly {
    readonly id: string
    readonly from: string
    readonly at: number
    readonly text: PromptText
  }[]
}

export interface Messages extends Answers {
  readonly send: SendMessage
  /** What the calling agent can, in the place of what it said before. */
  declare(caller: Caller, capabilities: readonly string[]): readonly string[]
  list(caller: Caller, page: { readonly agentId?: string | undefined; readonly limit: number }): MessageView[]
  keptFor(agentId: string): KeptMessages
  /** They stand in that heartbeat, and in no later one. Joins the caller's transaction. */
  tellKept(ids: readonly string[], runId: string): void
  capabilitiesOf(agentId: string): readonly string[]
  /** Ids of the messages that the run asked and that somebody works on. */
  openOf(runId: string): readonly string[]
  forget(agentId: string): void
  countByState(): Readonly<Record<string, number>>
  trim(): void
}

export function createMessages(given: Omit<MessageDeps, 'table' | 'capabilities'>): Messages {
  const { database, clock, guard, journal } = given
  const table = createMessageTable(database)
  const capabilities = createCapabilityTable(database)
  const deps: MessageDeps = { ...given, table, capabilities }
  return {
    ...createAnswers(deps),
    send: createSendMessage(deps),
    declare: (caller, names) => {
      if (caller.kind !== 'agent')
        throw new Problem('denied', { detail: 'only an agent declares what it can' })
      guard(caller, { do: 'act-for-self', agentId: caller.agentId })
      return database.transaction(() => {
        capabilities.replace(caller.agentId, names, clock.now())
        const now = capabilities.of(caller.agentId)
        journal.append({
          actor: `agent:${caller.agentId}`,
          action: 'capabilities.declared',
          subject: caller.agentId,
          detail: { capabilities: [...now] },
        })
        return now
      })
    },
    list: (caller, page) => {
      guard(caller, { do: 'view-fleet' })
      return table.list(page).map(messageView)
    },
    keptFor: (agentId) => ({
      // Nothing is kept for a worker: its messages are runs.
      count: agentId === operatorAgentId ? table.keptCount(agentId) : 0,
      oldest: (agentId === operatorAgentId ? table.keptOf(agentId, toldAtOnceMax) : []).map((message) => ({
        id: message.id,
        from: message.sender,
        at: message.created_at,
        text: truncatePromptText(sanitizeForPrompt(message.text), toldTextMaxChars, '…'),
      })),
    }),
    tellKept: (ids, runId) => {
      for (const id of ids) table.toldBy(id, runId)
    },
    capabilitiesOf: capabilities.of,
    openOf: table.openOf,
    forget: (agentId) => capabilities.forget(agentId),
    countByState: table.countByState,
    trim: () => database.transaction(() => table.trim(keptMax)),
  }
}

export function messageView(message: MessageRecord): MessageView {
  return {
    id: message.id,
    from: message.sender,
    to: message.recipient,
    capability: message.capability,
    text: message.text,
    state: message.state,
    run_id: message.run_id,
    answer: message.answer,
    created_at: message.created_at,
    answered_at: message.answered_at,
  }
}

/** What whoever asked is told of it. */
export function sentView(message: MessageRecord): SentMessage {
  const { id, to, capability, state, run_id, answer } = messageView(message)
  return { id, to, capability, state, run_id, answer }
}
