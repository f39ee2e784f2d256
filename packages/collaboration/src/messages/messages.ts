import type { MessageView, SentMessage } from '@flotilla/protocol/message-api'
import { operatorAgentId } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { Caller } from '@flotilla/identity/access'
import { createAnswers } from './answer-message.ts'
import type { Answers } from './answer-message.ts'
import { createCapabilityTable } from './capability-table.ts'
import type { MessageDeps } from './message-deps.ts'
import { createMessageTable } from './message-table.ts'
import type { MessageRecord } from './message-table.ts'
import { createSendMessage } from './send-message.ts'
import type { SendMessage } from './send-message.ts'

/** The number of finished messages that are kept. For older messages the audit log keeps only the id. */
const keptMax = 10_000
/** How many messages one heartbeat of the operator lists, and how many characters of each message. */
const deliveredAtOnceMax = 10
/** How much of a waiting message the operator's heartbeat shows, in characters. */
const eventTextMaxChars = 1000

/** The messages that started no run, as a heartbeat lists them. */
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
  /** Replaces the capabilities that the calling agent declares. */
  declare(caller: Caller, capabilities: readonly string[]): readonly string[]
  list(caller: Caller, page: { readonly agentId?: string | undefined; readonly limit: number }): MessageView[]
  keptFor(agentId: string): KeptMessages
  /** Marks messages as listed by that heartbeat, so that no later one lists them. Joins the caller's transaction. */
  deliverKept(ids: readonly string[], runId: string): void
  capabilitiesOf(agentId: string): readonly string[]
  /** Ids of the messages of this run that are still being answered. */
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
        throw new Problem('denied', { detail: 'only an agent may declare capabilities' })
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
      // Messages to workers always start runs, so only the operator has kept messages.
      count: agentId === operatorAgentId ? table.keptCount(agentId) : 0,
      oldest: (agentId === operatorAgentId ? table.keptOf(agentId, deliveredAtOnceMax) : []).map(
        (message) => ({
          id: message.id,
          from: message.sender,
          at: message.created_at,
          text: truncatePromptText(sanitizeForPrompt(message.text), eventTextMaxChars, '…'),
        }),
      ),
    }),
    deliverKept: (ids, runId) => {
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

/** Returns the view of a message for its sender. */
export function sentView(message: MessageRecord): SentMessage {
  const { id, to, capability, state, run_id, answer } = messageView(message)
  return { id, to, capability, state, run_id, answer }
}
