import type { MeshClient } from '@flotilla/client/mesh-client'
import { newTurn, takeFrame } from './turn.ts'
import type { Turn } from './turn.ts'

/** Conversations of this page. They continue while another page is open. */
export interface ChatStore {
  turns(agent: string, session: string): readonly Turn[]
  subscribe(listener: () => void): () => void
  /** Sends a message and follows the run to its end. */
  send(agent: string, session: string, message: string): void
  /** Deletes the conversation from the page, for example after a reset. */
  forget(agent: string, session: string): void
}

/** Number of turns of one conversation that the page keeps; the agent's history has the older ones. */
const turnsMax = 100
/** Minimum time in milliseconds between two renders of streamed text. */
const drawEveryMs = 60
const none: readonly Turn[] = []

export function createChatStore(client: Pick<MeshClient, 'chatStream'>): ChatStore {
  const conversations = new Map<string, readonly Turn[]>()
  const listeners = new Set<() => void>()
  let drawing: ReturnType<typeof setTimeout> | null = null
  const nameOf = (agent: string, session: string) => `${agent}\n${session}`

  function notify(): void {
    drawing ??= setTimeout(() => {
      drawing = null
      for (const listener of listeners) listener()
    }, drawEveryMs)
  }

  function change(name: string, key: string, next: (turn: Turn) => Turn): void {
    const turns = conversations.get(name) ?? none
    conversations.set(
      name,
      turns.map((turn) => (turn.key === key ? next(turn) : turn)),
    )
    notify()
  }

  async function follow(
    name: string,
    turn: Turn,
    request: { agent: string; session: string; message: string },
  ): Promise<void> {
    const { agent, session, message } = request
    try {
      const frames = client.chatStream(agent, message, { session, idempotencyKey: turn.key })
      for await (const frame of frames) change(name, turn.key, (was) => takeFrame(was, frame, agent))
    } catch (problem) {
      change(name, turn.key, (was) => ({ ...was, state: 'refused', problem }))
    }
  }

  return {
    turns: (agent, session) => conversations.get(nameOf(agent, session)) ?? none,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    send: (agent, session, message) => {
      const name = nameOf(agent, session)
      const turn = newTurn(randomKey(), message)
      conversations.set(name, [...(conversations.get(name) ?? none), turn].slice(-turnsMax))
      notify()
      void follow(name, turn, { agent, session, message })
    },
    forget: (agent, session) => {
      conversations.delete(nameOf(agent, session))
      notify()
    },
  }
}

/** Returns a random key; `randomUUID` is missing on a page loaded from another machine without TLS. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return `web-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
