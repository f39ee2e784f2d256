import type { MeshClient } from '@flotilla/client/mesh-client'
import type { RunView } from '@flotilla/protocol/run'
import type { SteerView } from '@flotilla/protocol/steer'

/** A steer that became a run of its own; requested with the same key, that run is followed. */
export interface LateWords {
  readonly text: string
  readonly key: string
}

/** The steers that were sent while one run was followed. */
export interface Steering {
  /** Sends the text to the agent's current run in this conversation. Never rejects. */
  say(text: string): Promise<void>
  /** Returns the steers, in order, that the ended run did not read and that became runs of their own. */
  late(ended: RunView | null): Promise<readonly LateWords[]>
}

export function createSteering(deps: {
  readonly client: MeshClient
  readonly agentId: string
  readonly session: string
  readonly newKey: () => string
  readonly onError: (error: unknown) => void
}): Steering {
  const sent: { readonly words: LateWords; readonly reply: Promise<SteerView | null> }[] = []

  async function send({ text, key }: LateWords): Promise<SteerView | null> {
    try {
      return await deps.client.call('steer', {
        params: { id: deps.agentId },
        body: { text, session: deps.session },
        idempotencyKey: key,
      })
    } catch (error) {
      deps.onError(error)
      return null
    }
  }

  return {
    say: async (text) => {
      const message = { text, key: deps.newKey() }
      const reply = send(message)
      sent.push({ words: message, reply })
      await reply
    },
    late: async (ended) => {
      const late: LateWords[] = []
      for (const { words: message, reply } of sent) {
        const steer = await reply
        const now = ended?.steers.find((one) => one.id === steer?.id) ?? steer
        if (now?.state === 'became-run') late.push(message)
      }
      return late
    },
  }
}
