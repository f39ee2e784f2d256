import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { topicLimits, topicSchema } from '@flotilla/protocol/topics-api'
import type { EventBus } from '@flotilla/foundation/events'
import { hasRoom } from '@flotilla/foundation/intake'
import type { Journal } from '@flotilla/foundation/journal'
import type { Action, Caller, Decision, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { Database } from '@flotilla/foundation/storage'
import type { TopicTable } from './topic-table.ts'

/** How many characters of a signal its event shows. */
const eventTextMaxChars = 200

export interface PublishedSignal {
  readonly signalId: string
  readonly delivered: number
  /** Subscribers whose inbox is full. */
  readonly full: readonly string[]
}

/**
 * Puts a signal into the inbox of every subscriber that may still subscribe, except the sender. A
 * signal starts no run. Problems `denied`, `bad-request`, `body-too-large`.
 */
export type PublishSignal = (
  caller: Caller,
  signal: { readonly topic: string; readonly text: string; readonly data: JsonValue },
) => PublishedSignal

export function publishSignal(deps: {
  readonly database: Database
  readonly table: TopicTable
  readonly guard: Guard
  readonly decide: (caller: Caller, action: Action) => Decision
  readonly clock: Clock
  readonly newId: NewId
  readonly journal: Journal
  readonly events: EventBus
}): PublishSignal {
  const { table } = deps
  return (caller, { topic, ...content }) => {
    deps.guard(caller, { do: 'publish-topic', topic })
    requireTopic(topic)
    const text = sanitizeForPrompt(content.text)
    if (text.trim() === '')
      throw new Problem('bad-request', {
        detail: 'the text of a signal needs at least one visible character',
      })
    const sizeBytes = Buffer.byteLength(JSON.stringify([text, content.data]))
    if (sizeBytes > topicLimits.signalMaxBytes) {
      throw new Problem('body-too-large', {
        detail: `a signal is at most ${topicLimits.signalMaxBytes} bytes of JSON, this one has ${sizeBytes}; share larger data as a blackboard entry or an artifact, and name that in the signal`,
      })
    }
    const from = caller.kind === 'agent' ? caller.agentId : actorOf(caller)
    return deps.database.transaction(() => {
      const signalId = deps.newId('sig')
      const signal = { id: signalId, topic, from, text, data: content.data, at: deps.clock.now() }
      const position = table.insert(signal)
      const full: string[] = []
      let delivered = 0
      for (const agentId of table.subscribersOf(topic)) {
        if (agentId === from || !maySubscribe(deps.decide, agentId, topic)) continue
        const rows = { own: table.unreadCountFrom(agentId, from), total: table.unreadCount(agentId) }
        if (!hasRoom(rows, boxBounds)) full.push(agentId)
        else {
          table.deliver(agentId, position)
          delivered++
        }
      }
      deps.journal.append({
        actor: actorOf(caller),
        action: 'signal.published',
        subject: topic,
        detail: { signal: signalId, size_bytes: sizeBytes, delivered, full: full.length },
      })
      deps.events.publish({
        type: 'signal.published',
        signal_id: signalId,
        topic,
        from,
        text: truncatePromptText(text, eventTextMaxChars, '…'),
        delivered,
        full,
      })
      return { signalId, delivered, full }
    })
  }
}

/** Limits the unread signals of one receiver. Each sender can still add a few when other senders filled the inbox. */
const boxBounds = { max: topicLimits.unreadMax, perAgentMax: topicLimits.unreadMax, floor: 3 } as const

/** Throws the problem `bad-request` for an invalid topic. */
export function requireTopic(topic: string): void {
  if (topicSchema.safeParse(topic).success) return
  throw new Problem('bad-request', {
    detail: `a topic is 1 to ${topicLimits.topicMaxChars} characters, segments of letters, digits and _ . : - joined by /`,
  })
}

/** Returns true if the agent may subscribe now: a withdrawn permission ends existing subscriptions at once. */
function maySubscribe(
  decide: (caller: Caller, action: Action) => Decision,
  agentId: string,
  topic: string,
): boolean {
  const subscriber: Caller = { kind: 'agent', agentId, token: 'door', run: null }
  return decide(subscriber, { do: 'subscribe-topic', topic }).allowed
}
