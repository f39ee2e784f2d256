import { join } from 'node:path'
import { createInTurn } from '@flotilla/protocol/turns'
import { stateFolder } from '../door-token.ts'
import { readJsonFile } from '../files/atomic-file.ts'
import { writeState } from '../files/state-file.ts'

/** Conversations whose session is remembered; an older one begins a new session with its messages. */
const sessionsMax = 500
const textMaxChars = 500

/** The session that a harness keeps for one conversation of the agent. */
export interface HarnessSession {
  readonly conversation: string
  /** The identifier that the harness gave. */
  readonly sessionId: string
  /** Fingerprint of the harness's command: another harness does not know the session. */
  readonly harness: string
  /** The run that used the session last. */
  readonly runId: string
  /** When the session was last opened, milliseconds since 1970. */
  readonly openedAt: number
}

const minuteMs = 60_000

/** Returns how long to wait until the minute in which the session was opened is over. Pure. */
export function restOfMinuteMs({ openedAt }: Pick<HarnessSession, 'openedAt'>, now: number): number {
  const nextAt = (Math.floor(openedAt / minuteMs) + 1) * minuteMs
  return Math.min(minuteMs, Math.max(0, nextAt - now))
}

/** The sessions of the harness, on disk below /data beside the harness's own files. */
export interface HarnessSessions {
  find(conversation: string, harness: string): Promise<HarnessSession | null>
  /** The promise resolves when the session is synced to disk. */
  save(session: HarnessSession): Promise<void>
}

export function createHarnessSessions(dataDirectory: string): HarnessSessions {
  const path = join(dataDirectory, stateFolder, 'harness-sessions.json')
  const inTurn = createInTurn()
  const load = async (): Promise<readonly HarnessSession[]> => {
    const value = await readJsonFile(path)
    return Array.isArray(value) ? value.flatMap(readSession).slice(0, sessionsMax) : []
  }
  return {
    find: (conversation, harness) =>
      inTurn(async () => {
        const sessions = await load()
        return sessions.find((one) => one.conversation === conversation && one.harness === harness) ?? null
      }),
    save: (session) =>
      inTurn(async () => {
        const others = (await load()).filter(({ conversation }) => conversation !== session.conversation)
        const kept = [session, ...others].slice(0, sessionsMax)
        await writeState(dataDirectory, path, JSON.stringify(kept))
      }),
  }
}

/** Programs in the container can write to the file, so every other form is left out. */
function readSession(value: unknown): HarnessSession[] {
  if (typeof value !== 'object' || value === null) return []
  const fields = new Map(Object.entries(value))
  const text = (name: string): string | null => {
    const found: unknown = fields.get(name)
    return typeof found === 'string' && found !== '' && found.length <= textMaxChars ? found : null
  }
  const [conversation, sessionId, harness, runId] = [
    text('conversation'),
    text('sessionId'),
    text('harness'),
    text('runId'),
  ]
  return conversation === null || sessionId === null || harness === null || runId === null
    ? []
    : [{ conversation, sessionId, harness, runId, openedAt: numberIn(fields.get('openedAt')) }]
}

function numberIn(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}
