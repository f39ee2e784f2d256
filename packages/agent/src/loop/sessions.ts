import { promises } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '@flotilla/protocol/clock'
import { createInTurn } from '@flotilla/protocol/turns'
import { stateFolder } from '../door-token.ts'
import { readJsonFile } from '../files/atomic-file.ts'
import { writeState } from '../files/state-file.ts'
import { codeOf } from '../files/walk-path.ts'
import type { PromptMessage } from '../llm/language-model.ts'
import type { CallRecord } from './loop-detection.ts'
import { isTrust } from '../memory/trust.ts'
import type { Trust } from '../memory/trust.ts'
import { forgetOldest } from '../files/forget-oldest.ts'

const archivesMax = 100
/** Number of stored conversations; beyond it the least recently used one is archived. */
const sessionsMax = 1000
/** Number of conversations in a list. */
const listedMax = 200
/** Each firing of a job has its own conversation that is never continued; this many are kept for inspection. */
const jobSessionsMax = 100
const jobSessionMark = 'cron:'

export interface Session {
  readonly messages: readonly PromptMessage[]
  readonly rounds: number
  readonly continues: number
  /** True if facts of this conversation were saved in memory since the last compaction. */
  readonly flushed: boolean
  /** The task of this conversation, if it began with one. */
  readonly taskId: string | null
  /** The trust of the least trusted text in the conversation; null for an empty conversation. */
  readonly trust: Trust | null
  /** The learnings in the system prompt of this conversation. */
  readonly learnings?: string | undefined
  /** When the last turn ended, in milliseconds since 1970. */
  readonly endedAt?: number | undefined
  /** The calls of a run that waits for others, so that its next turn recognizes repeated ones. */
  readonly waiting?: { readonly run: string; readonly calls: readonly CallRecord[] } | undefined
}

/**
 * Conversations, one file each. A turn that began before its conversation was deleted is not written back.
 * Operations are serialized: one that begins during a deletion finds the conversation deleted.
 */
export interface Sessions {
  /** The conversation so far, and a mark to pass to `save`. */
  load(session: string): Promise<Session & { mark: number }>
  save(session: string, state: Session, mark: number): Promise<void>
  /** Archives and deletes the conversation; returns its number of messages. */
  reset(session: string): Promise<number>
  /** The newest conversations, newest first, and their total number. */
  list(): Promise<{ sessions: readonly ListedSession[]; total: number }>
}

interface ListedSession {
  readonly session: string
  readonly messages: number
  /** Milliseconds since 1970. */
  readonly updatedAt: number
  readonly taskId: string | null
}

export function createSessions(deps: {
  dataDirectory: string
  clock: Clock
  sessionsMax?: number
}): Sessions {
  const folder = join(deps.dataDirectory, stateFolder, 'sessions')
  const archives = join(deps.dataDirectory, stateFolder, 'archives')
  const keptMax = deps.sessionsMax ?? sessionsMax
  const jobFolder = join(deps.dataDirectory, stateFolder, 'job-sessions')
  const isOfJob = (session: string): boolean => session.startsWith(jobSessionMark)
  const folderOf = (session: string): string => (isOfJob(session) ? jobFolder : folder)
  const resets = new Map<string, number>()
  const markOf = (session: string): number => resets.get(session) ?? 0
  const inOrder = createInTurn()
  const fileOf = async (session: string): Promise<string> => {
    const { fingerprint } = await import('./fingerprint.ts')
    return `${fingerprint(session)}.json`
  }

  /** One rename, so that after a crash the conversation is in exactly one folder. */
  const archive = async (file: string, from = folder): Promise<void> => {
    await promises.mkdir(archives, { recursive: true, mode: 0o700 })
    await forgetOldest(archives, await promises.readdir(archives), archivesMax - 1)
    await promises
      .rename(join(from, file), join(archives, `${deps.clock.now()}-${file}`))
      .catch((error: unknown) => {
        if (codeOf(error) !== 'ENOENT') throw error
      })
  }
  const forgetOldJobs = async (file: string): Promise<void> => {
    await promises.mkdir(jobFolder, { recursive: true, mode: 0o700 })
    const names = await promises.readdir(jobFolder)
    if (!names.includes(file)) await forgetOldest(jobFolder, names, jobSessionsMax - 1)
  }
  const makeRoomFor = async (file: string): Promise<void> => {
    const names = await sessionFiles(folder)
    if (names.length < keptMax || names.includes(file)) return
    const aged = await byAge(folder, names)
    for (const { name } of aged.slice(keptMax - 1)) await archive(name)
  }

  return {
    load: (session) =>
      inOrder(async () => {
        const value = await readJsonFile(join(folderOf(session), await fileOf(session)))
        return { ...(await readSession(session, value)), mark: markOf(session) }
      }),
    save: (session, state, mark) =>
      inOrder(async () => {
        if (mark !== markOf(session)) return
        const file = await fileOf(session)
        await (isOfJob(session) ? forgetOldJobs(file) : makeRoomFor(file))
        const path = join(folderOf(session), file)
        await writeState(deps.dataDirectory, path, JSON.stringify({ session, ...state }))
      }),
    reset: (session) =>
      inOrder(async () => {
        const file = await fileOf(session)
        const { messages } = await readSession(session, await readJsonFile(join(folderOf(session), file)))
        await archive(file, folderOf(session))
        resets.set(session, markOf(session) + 1)
        return messages.length
      }),
    list: async () => {
      const names = await sessionFiles(folder)
      const sessions: ListedSession[] = []
      for (const { name, at } of (await byAge(folder, names)).slice(0, listedMax)) {
        const value = await readJsonFile(join(folder, name))
        const session = nameIn(value)
        if (session === null) continue
        const { messages, taskId } = await readSession(session, value)
        sessions.push({ session, messages: messages.length, updatedAt: at, taskId })
      }
      return { sessions, total: names.length }
    },
  }
}

async function sessionFiles(folder: string): Promise<string[]> {
  return (await promises.readdir(folder).catch(() => [])).filter((name) => name.endsWith('.json'))
}

/** Newest first, by the last write. */
async function byAge(folder: string, names: readonly string[]): Promise<{ name: string; at: number }[]> {
  const aged = await Promise.all(
    names.map(async (name) => {
      const found = await promises.stat(join(folder, name)).catch(() => null)
      return { name, at: Math.trunc(found?.mtimeMs ?? 0) }
    }),
  )
  return aged.sort((one, other) => other.at - one.at)
}

function nameIn(value: unknown): string | null {
  return typeof value === 'object' &&
    value !== null &&
    'session' in value &&
    typeof value.session === 'string'
    ? value.session
    : null
}

async function readSession(session: string, value: unknown): Promise<Session> {
  const empty = { messages: [], rounds: 0, continues: 0, flushed: false, taskId: null, trust: null }
  if (typeof value !== 'object' || value === null) return empty
  const { readCallRecords, readMessages } = await import('./read-loop-state.ts')
  const messages = readMessages('messages' in value ? value.messages : null)
  if (messages === null || !('session' in value) || value.session !== session) return empty
  return {
    messages,
    rounds: countOf('rounds' in value ? value.rounds : 0),
    continues: countOf('continues' in value ? value.continues : 0),
    flushed: 'flushed' in value && value.flushed === true,
    taskId: 'taskId' in value && typeof value.taskId === 'string' ? value.taskId : null,
    // A conversation without a trust label is not trusted.
    trust: 'trust' in value && isTrust(value.trust) ? value.trust : 'outside',
    ...('learnings' in value && typeof value.learnings === 'string' ? { learnings: value.learnings } : {}),
    ...('endedAt' in value && typeof value.endedAt === 'number' ? { endedAt: value.endedAt } : {}),
    ...('waiting' in value ? waitingIn(value.waiting, readCallRecords) : {}),
  }
}

function waitingIn(
  value: unknown,
  readCalls: (calls: unknown) => readonly CallRecord[],
): Pick<Session, 'waiting'> {
  if (typeof value !== 'object' || value === null) return {}
  if (!('run' in value) || typeof value.run !== 'string' || !('calls' in value)) return {}
  return { waiting: { run: value.run, calls: readCalls(value.calls) } }
}

function countOf(found: unknown): number {
  return typeof found === 'number' && found > 0 ? Math.trunc(found) : 0
}
