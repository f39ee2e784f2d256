import { createHash } from 'node:crypto'
import type { Hash } from 'node:crypto'
import { agentIdSchema } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import { runtimeNames } from '@flotilla/protocol/runtime-names'
import * as z from 'zod'
import { broken } from './seal-archive.ts'
import { skippedSchema } from './skipped-entries.ts'
import { isZeros } from './zeros.ts'

/**
 * The inner layer of a backup: consecutive entries, each announced before its content and closed by its digest, and
 * finally their number. A frame is a letter, a length of four bytes, and the content. It can contain only files, the
 * database and archives of agents' data; links and devices cannot be expressed.
 *
 * - F1 The frames of one agent's data are in chunks of their own (A3), so a damaged chunk loses only this agent's
 *   data.
 * - F2 Agent data that could not be read ends with a frame that says so instead of a digest.
 * - F3 Runs of zero bytes are stored as their length, so that a sparse file does not fill the disk.
 */
const partBytes = 128 * 1024
/** Maximum size of a data frame; frames of format 1 are larger. */
export const dataBytesMax = 1024 * 1024
export const wordBytesMax = 64 * 1024
/** Runs of zeros that are shorter than this are written as they are. */
const zeroRunMin = 4096
/** Longest run of zeros in one frame. */
export const zeroRunMax = 1024 ** 3
/**
 * Maximum number of files besides the agents' data. Their size is limited only by the disk, because they are never
 * held in memory.
 */
export const entriesMax = 2_500_000

export const entrySchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('file'), path: z.string(), mode: z.int().min(0).max(0o777) }),
  z.strictObject({ kind: z.literal('database') }),
  z.strictObject({ kind: z.literal('agent-data'), agent: agentIdSchema }),
])
export type Entry = z.infer<typeof entrySchema>

/** What the program that made the backup recorded about one agent's data. */
const noteSchema = z.strictObject({
  skipped: skippedSchema,
  /** The limit that ended reading early; null if everything was read. */
  ended_by: z.string().max(1000).nullable(),
})
export type DataNote = z.infer<typeof noteSchema>

export const endSchema = z.strictObject({
  bytes: z.number(),
  sha256: z.string(),
  note: noteSchema.optional(),
})
export const leftOutSchema = z.strictObject({ why: z.string().max(2000) })

export const aboutSchema = z.strictObject({
  product: z.string().max(100),
  made_at: z.number(),
  home_id: z.string().max(100),
  runtime: z.enum(runtimeNames),
  secrets: z.boolean(),
  /** Newest step of the schema of the database. */
  schema: z.number(),
  agents: z.int(),
  /** Number of the home's files in the backup. Format 2 added this field and the two below. */
  files: z.int().optional(),
  /** The secrets of the home that the backup contains. */
  secret_files: z.array(z.string().max(100)).max(10).optional(),
  /** Entries of the home that the backup does not contain. */
  skipped: skippedSchema.optional(),
})
/** A backup's description of itself. */
export type About = z.infer<typeof aboutSchema>

export const overSchema = z.strictObject({ entries: z.int() })

/** The letters of frames. */
export const letters = {
  about: 'm',
  entry: 'e',
  data: 'd',
  zeros: 'z',
  end: 'f',
  leftOut: 'x',
  over: 'o',
} as const

export interface SourceEntry {
  readonly entry: Entry
  readonly content: AsyncIterable<Buffer>
  /** Called once an agent's data has ended; returns the note on the data, or why the data could not be read. */
  readonly close?: () => { readonly note: DataNote } | { readonly leftOut: string }
}

/** Closes the chunk (A3). */
const chunkEnd = Buffer.alloc(0)

/** The content of an archive. */
export async function* writeFrames(
  about: About,
  entries: AsyncIterable<SourceEntry>,
  countMax = entriesMax,
): AsyncGenerator<Buffer> {
  yield word(letters.about, about)
  let count = 0
  for await (const { entry, content, close } of entries) {
    count += 1
    if (count > countMax) throw tooMany(countMax)
    yield word(letters.entry, entry)
    const isData = entry.kind === 'agent-data'
    if (isData) yield chunkEnd
    const counted = { bytes: 0, digest: createHash('sha256') }
    yield* dataFrames(content, counted)
    if (isData) yield chunkEnd
    const closed = close?.()
    if (closed && 'leftOut' in closed) yield word(letters.leftOut, { why: closed.leftOut.slice(0, 2000) })
    else yield word(letters.end, { bytes: counted.bytes, sha256: counted.digest.digest('hex'), ...closed })
  }
  yield word(letters.over, { entries: count })
}

async function* dataFrames(
  content: AsyncIterable<Buffer>,
  counted: { bytes: number; readonly digest: Hash },
): AsyncGenerator<Buffer> {
  let run = 0
  for await (const piece of content) {
    for (let at = 0; at < piece.length; at += partBytes) {
      const part = piece.subarray(at, at + partBytes)
      counted.digest.update(part)
      counted.bytes += part.length
      const isZero = part.length >= zeroRunMin && isZeros(part)
      if (run > 0 && (!isZero || run + part.length > zeroRunMax)) {
        yield zeroFrame(run)
        run = 0
      }
      if (isZero) run += part.length
      else yield frame(letters.data, part)
    }
  }
  if (run > 0) yield zeroFrame(run)
}

/** Returns the problem for too many files, which making a backup reports, so that no restore fails later. */
function tooMany(countMax: number): Problem {
  return new Problem('unprocessable', {
    detail: `the home has more than ${countMax} files`,
    repair: 'Delete files that you do not need from the home, old artifacts first, and repeat the backup.',
  })
}

function zeroFrame(count: number): Buffer {
  const body = Buffer.alloc(4)
  body.writeUInt32BE(count)
  return frame(letters.zeros, body)
}

function word(letter: string, value: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(value))
  if (body.length > wordBytesMax) throw broken('a part of the backup is longer than the maximum')
  return frame(letter, body)
}

function frame(letter: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(letter, 'latin1')
  head.writeUInt32BE(body.length, 1)
  return Buffer.concat([head, body])
}
