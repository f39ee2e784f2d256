import { createHash } from 'node:crypto'
import { agentIdSchema } from '@flotilla/protocol/ids'
import * as z from 'zod'
import { parseCondition } from '../conditions/index.ts'
import type { Condition } from '../conditions/index.ts'

/**
 * The maximum number of file watchers in config/watchers.yaml. The mesh scans the folder of each one every five
 * seconds.
 */
export const watchesMax = 100
/** The maximum length of the folder of a file watcher, in characters. */
const pathMaxChars = 4096
/** The maximum length of the file pattern of a file watcher, in characters. */
const patternMaxChars = 255
/** The maximum length of the message that a file watcher sends, in characters. */
const messageMaxChars = 10_000

/** One entry of `config/watchers.yaml`. */
export interface WatchRule {
  /** The key of the watch's stored changes: a digest of folder, pattern and the order among equal entries. */
  readonly id: string
  readonly path: string
  readonly pattern: string
  readonly agent: string
  readonly message: string
  /** The condition as written, for display. */
  readonly whenText: string | null
  readonly when: Condition | null
  /** The line of the entry in the file, counted from 1. */
  readonly line: number
}

/** Returns the name of a watch for people: folder and pattern. Pure. */
export function watchName({ path, pattern }: Pick<WatchRule, 'path' | 'pattern'>): string {
  return path.endsWith('/') ? `${path}${pattern}` : `${path}/${pattern}`
}

const conditionSchema = z.string().transform((text, context): { text: string; parsed: Condition } => {
  try {
    return { text, parsed: parseCondition(text) }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    context.issues.push({ code: 'custom', message, input: text })
    return z.NEVER
  }
})

const placeFields = {
  path: z
    .string()
    .max(pathMaxChars)
    .regex(/^\/[^\0]*$/, 'a folder must be an absolute path, such as /srv/inbox')
    .transform((path) => path.replace(/(?<=.)\/+$/, '')),
  pattern: z
    .string()
    .min(1)
    .max(patternMaxChars)
    .regex(/^[^/\0]+$/, 'a pattern matches file names in the folder and contains no slash'),
  agent: agentIdSchema,
  message: z
    .string()
    .max(messageMaxChars)
    .refine((text) => text.trim() !== '', 'a message must not be empty'),
}

const entrySchema = z.strictObject({ ...placeFields, when: conditionSchema.optional() })

/** An entry in the form of the file, for templates. Its condition must be valid. */
export const watcherEntrySchema = z.strictObject({
  ...placeFields,
  when: conditionSchema.transform(({ text }) => text).optional(),
})
export type WatcherEntry = z.output<typeof watcherEntrySchema>

export const watchersFileSchema = z.strictObject({
  watchers: z
    .array(entrySchema)
    .max(watchesMax, `at most ${watchesMax} watchers`)
    .nullable()
    .transform((entries) => entries ?? []),
})

type WatchEntry = z.output<typeof entrySchema>

export function entryOf({ path, pattern, agent, message, whenText }: WatchRule): WatcherEntry {
  return { path, pattern, agent, message, ...(whenText === null ? {} : { when: whenText }) }
}

/** Gives each entry an id. Entries with the same folder and pattern get different ids by their order. Pure. */
export function rulesOf(entries: readonly WatchEntry[], lineOf: (index: number) => number): WatchRule[] {
  const seen = new Map<string, number>()
  return entries.map(({ when, ...entry }, index) => {
    const place = `${entry.path}\0${entry.pattern}`
    const ordinal = seen.get(place) ?? 0
    seen.set(place, ordinal + 1)
    const digest = createHash('sha256').update(`${place}\0${ordinal}`).digest('hex')
    return {
      ...entry,
      id: digest.slice(0, 16),
      whenText: when?.text ?? null,
      when: when?.parsed ?? null,
      line: lineOf(index),
    }
  })
}
