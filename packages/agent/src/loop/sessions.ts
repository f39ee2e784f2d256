import { promises } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '@flotilla/protocol/clock'
import { stateFolder } from '../door-token.ts'
import { readJsonFile } from '../files/atomic-file.ts'
import { writeState } from '../files/state-file.ts'
import { codeOf } from '../files/walk-path.ts'
import type { PromptMessage } from '../llm/language-model.ts'
import { isTrust } from '../memory/trust.ts'
import type { Trust } from '../memory/trust.ts'
import { forgetOldest } from './checkpoints.ts'

const archivesMax = 100

export interface Session {
  readonly messages: readonly PromptMessage[]
  readonly rounds: number
  readonly continues: number
  /** Facts of it were handed to memory since it was last compacted. */
  readonly flushed: boolean
  /** The task that this conversation is about, when it began as one. */
  readonly taskId: string | null
  /** By the least trusted text in it; null when nothing was said yet. */
  readonly trust: Trust | null
}

/** Conversations, one file each. A turn that began before its conversation was forgotten is not written back. */
export interface Sessions {
  /** The conversation so far, and a mark to hand to `save`. */
  load(session: string): Promise<Session & { mark: number }>
  save(session: string, state: Session, mark: number): Promise<void>
  /** Archives the conversation and forgets it. */
  reset(session: string): Promise<void>
}

export function createSessions(deps: { dataDirectory: string; clock: Clock }): Sessions {
  const folder = join(deps.dataDirectory, stateFolder, 'sessions')
  const archives = join(deps.dataDirectory, stateFolder, 'archives')
  const resets = new Map<string, number>()
  const markOf = (session: string): number => resets.get(session) ?? 0

  return {
    load: async (session) => {
      const { fingerprint } = await import('./fingerprint.ts')
      const value = await readJsonFile(join(folder, `${fingerprint(session)}.json`))
      return { ...(await readSession(session, value)), mark: markOf(session) }
    },
    save: async (session, state, mark) => {
      if (mark !== markOf(session)) return
      const { fingerprint } = await import('./fingerprint.ts')
      const content = { session, ...state }
      await writeState(
        deps.dataDirectory,
        join(folder, `${fingerprint(session)}.json`),
        JSON.stringify(content),
      )
    },
    reset: async (session) => {
      resets.set(session, markOf(session) + 1)
      const { fingerprint } = await import('./fingerprint.ts')
      await promises.mkdir(archives, { recursive: true, mode: 0o700 })
      await forgetOldest(archives, await promises.readdir(archives), archivesMax - 1)
      const name = fingerprint(session)
      await promises
        .rename(join(folder, `${name}.json`), join(archives, `${deps.clock.now()}-${name}.json`))
        .catch((error: unknown) => {
          if (codeOf(error) !== 'ENOENT') throw error
        })
    },
  }
}

async function readSession(session: string, value: unknown): Promise<Session> {
  const empty = { messages: [], rounds: 0, continues: 0, flushed: false, taskId: null, trust: null }
  if (typeof value !== 'object' || value === null) return empty
  const { readMessages } = await import('./read-loop-state.ts')
  const messages = readMessages('messages' in value ? value.messages : null)
  if (messages === null || !('session' in value) || value.session !== session) return empty
  return {
    messages,
    rounds: countOf('rounds' in value ? value.rounds : 0),
    continues: countOf('continues' in value ? value.continues : 0),
    flushed: 'flushed' in value && value.flushed === true,
    taskId: 'taskId' in value && typeof value.taskId === 'string' ? value.taskId : null,
    // A conversation that does not say how far it can be believed cannot.
    trust: 'trust' in value && isTrust(value.trust) ? value.trust : 'outside',
  }
}

function countOf(found: unknown): number {
  return typeof found === 'number' && found > 0 ? Math.trunc(found) : 0
}
