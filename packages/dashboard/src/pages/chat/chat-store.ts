import type { MeshClient } from '@flotilla/client/mesh-client'
import type { RunView } from '@flotilla/protocol/run'
import { newTurn, takeFrame } from './turn.ts'
import type { Turn } from './turn.ts'

/** Conversations of this page. They continue while another page is open. */
export interface ChatStore {
  turns(agent: string, session: string): readonly Turn[]
  subscribe(listener: () => void): () => void
  /** Sends a message and follows the run to its end. */
  send(agent: string, session: string, message: string): void
  /** Follows a run of the conversation that this page did not start, from its beginning to its end; once for each run. */
  attach(agent: string, session: string, run: RunView): void
  /** Deletes the conversation from the page, for example after a reset. */
  forget(agent: string, session: string): void
}

/** Number of turns of one conversation that the page keeps; the agent's history has the older ones. */
const turnsMax = 100
/** Minimum time in milliseconds between two renders of streamed text. */
const drawEveryMs = 60
const none: readonly Turn[] = []

export function createChatStore(client: Pick<MeshClient, 'chatStream' | 'runStream'>): ChatStore {
  const conversations = new Map<string, readonly Turn[]>()
  const listeners = new Set<() => void>()
  /** Ids of the runs that were followed; one whose stream failed is not followed again. */
  const attached = new Set<string>()
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

  async function followOther(name: string, run: RunView): Promise<void> {
    try {
      for await (const frame of client.runStream(run.id))
        change(name, run.id, (was) => takeFrame(was, frame, run.agent_id))
    } catch {
      // The page then shows the run as one that it does not follow.
      conversations.set(
        name,
        (conversations.get(name) ?? none).filter(({ key }) => key !== run.id),
      )
      notify()
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
    attach: (agent, session, run) => {
      if (attached.has(run.id)) return
      attached.add(run.id)
      const name = nameOf(agent, session)
      const message = run.input.kind === 'chat' ? run.input.message : null
      const turn: Turn = { ...newTurn(run.id, message), state: 'working', runId: run.id }
      conversations.set(name, [...(conversations.get(name) ?? none), turn].slice(-turnsMax))
      notify()
      void followOther(name, run)
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
