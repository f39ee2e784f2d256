import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import { joinPromptText, sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { createInTurn } from '@flotilla/protocol/turns'
import type { DataFiles } from '../files/data-files.ts'
import { workspaceFolder } from './workspace.ts'

const entryMaxChars = 4000
/** Size limit of a day's log; beyond it the older half of the day is deleted, and the log says so. */
export const dailyLogMaxBytes = 512 * 1024
const transcriptMaxBytes = 4 * 1024 * 1024
const transcriptsMax = 100
const leftOut = '[older entries of this day were left out]'

export const memoryFolder = `${workspaceFolder}/memory`
/** Heartbeats have a log of their own, because it does not count as activity. */
export const heartbeatLogFolder = `${memoryFolder}/heartbeats`
const transcriptFolder = `${memoryFolder}/transcripts`

/**
 * What the agent did, one file for each day (UTC), `memory/YYYY-MM-DD.md` in its workspace, and the messages that
 * left its conversations. Entries are sanitized and bounded; the same entry with the same mark is written once.
 */
export interface DailyLog {
  /** `mark` identifies an entry, so that one written again after a crash is not duplicated. */
  append(entry: { readonly mark: string; readonly text: PromptText }): Promise<void>
  /** The log of a day, or its newest part; null without a log. */
  read(day: string): Promise<PromptText | null>
  /** Saves the whole text of a conversation; returns the path. The newest hundred files are kept. */
  keepTranscript(mark: string, text: PromptText): Promise<string>
}

export function createDailyLog(deps: { files: DataFiles; clock: Clock; folder?: string }): DailyLog {
  const { files, clock, folder = memoryFolder } = deps
  const now = (): string => new Date(clock.now()).toISOString()
  const inTurn = createInTurn()

  const read = async (day: string): Promise<string | null> => {
    try {
      return (await files.read(`${folder}/${day}.md`, dailyLogMaxBytes * 2)).toString('utf8')
    } catch (error) {
      if (error instanceof Problem && error.code === 'not-found') return null
      throw error
    }
  }
  const append = async ({ mark, text }: { mark: string; text: PromptText }): Promise<void> => {
    const day = now().slice(0, 10)
    const before = (await read(day)) ?? ''
    const id = sanitizeForPrompt(`(${mark})`)
    if (before.includes(id)) return
    const time = sanitizeForPrompt(`- ${now().slice(11, 16)}`)
    const entryText = truncatePromptText(sanitizeForPrompt(text.trim()), entryMaxChars)
    const entry = joinPromptText([time, entryText, id], ' ')
    const path = `${folder}/${day}.md`
    if (Buffer.byteLength(before) + Buffer.byteLength(entry) <= dailyLogMaxBytes) {
      await files.write(path, Buffer.from(`${entry}\n`), { append: true })
      return
    }
    const half = before.slice(-Math.floor(before.length / 2))
    const kept = half.slice(half.indexOf('\n- ') + 1)
    await files.write(path, Buffer.from(`${leftOut}\n${kept}${entry}\n`))
  }
  return {
    // Serialized, because reading and writing are two steps.
    append: (entry) => inTurn(() => append(entry)),
    read: async (day) => {
      const text = await read(day)
      return text === null ? null : sanitizeForPrompt(text.trim())
    },
    keepTranscript: async (mark, text) => {
      const name = `${now().replaceAll(/[:.]/g, '-')}-${mark.replaceAll(/[^A-Za-z0-9_-]/g, '-').slice(0, 100)}.md`
      const path = `${transcriptFolder}/${name}`
      await files.write(path, Buffer.from(text).subarray(0, transcriptMaxBytes))
      await forgetOldTranscripts(files)
      return path
    },
  }
}

/** Deletes the oldest transcripts; names begin with their time, so sorting by name sorts by age. */
async function forgetOldTranscripts(files: DataFiles): Promise<void> {
  const found = await files.list(transcriptFolder, { recursive: false, entriesMax: transcriptsMax * 10 })
  const names = found.filter(({ kind }) => kind === 'file').map(({ path }) => path)
  for (const name of names.toSorted().slice(0, -transcriptsMax))
    await files.remove(`${transcriptFolder}/${name}`)
}
