import { createHash } from 'node:crypto'
import { agentIdSchema } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import { runtimeNames } from '@flotilla/protocol/runtime-names'
import * as z from 'zod'
import { createTarCheck } from './check-tar.ts'
import { checkedPath } from './entry-path.ts'
import { broken } from './seal-archive.ts'

/**
 * The inner layer of a backup: entries one behind the other, each told before its content and closed by its digest, and at
 * the end how many there were. A frame is a letter, a length of four bytes, and so many bytes. Only files, the database and
 * archives of agents' data can be said in it: there is no word for a link or a device.
 */
const dataBytesMax = 1024 * 1024
const wordBytesMax = 8192
/** Files of a home beside the data of agents. How large they are is bounded by the room of the disk alone: none is held in memory. */
export const entriesMax = 200_000

const entrySchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('file'), path: z.string(), mode: z.int().min(0).max(0o777) }),
  z.strictObject({ kind: z.literal('database') }),
  z.strictObject({ kind: z.literal('agent-data'), agent: agentIdSchema }),
])
export type Entry = z.infer<typeof entrySchema>

const endSchema = z.strictObject({ bytes: z.number(), sha256: z.string() })

const aboutSchema = z.strictObject({
  product: z.string().max(100),
  made_at: z.number(),
  home_id: z.string().max(100),
  runtime: z.enum(runtimeNames),
  secrets: z.boolean(),
  /** Newest step of the schema of the database. */
  schema: z.number(),
  agents: z.int(),
})
/** What a backup says of itself. */
export type About = z.infer<typeof aboutSchema>

const overSchema = z.strictObject({ entries: z.int() })

const letters = { about: 'm', entry: 'e', data: 'd', end: 'f', over: 'o' } as const

export interface SourceEntry {
  readonly entry: Entry
  readonly content: AsyncIterable<Buffer>
}

/** The content of an archive. */
export async function* writeFrames(
  about: About,
  entries: AsyncIterable<SourceEntry>,
): AsyncGenerator<Buffer> {
  yield word(letters.about, about)
  let count = 0
  for await (const { entry, content } of entries) {
    count += 1
    if (count > entriesMax) throw tooMany()
    yield word(letters.entry, entry)
    const digest = createHash('sha256')
    let bytes = 0
    for await (const piece of content) {
      for (let at = 0; at < piece.length; at += dataBytesMax) {
        const part = piece.subarray(at, at + dataBytesMax)
        digest.update(part)
        bytes += part.length
        yield frame(letters.data, part)
      }
    }
    yield word(letters.end, { bytes, sha256: digest.digest('hex') })
  }
  yield word(letters.over, { entries: count })
}

/** Better said now than when the backup is needed. */
function tooMany(): Problem {
  return new Problem('unprocessable', {
    detail: `the home has more than ${entriesMax} files`,
    repair: 'Delete what nobody needs of it, old artifacts first, and back it up again.',
  })
}

/** Hears an archive from its beginning; each is awaited before the next. */
export interface FrameListener {
  about(about: About): Promise<void> | void
  /** Gives what takes the content, or null for nobody. `end` comes once it was found whole. */
  entry(entry: Entry): Promise<EntrySink | null> | EntrySink | null
}

export interface EntrySink {
  take(piece: Buffer): Promise<void> | void
  end(): Promise<void> | void
}

/** Reads a whole archive. Problem `unprocessable` for whatever is not as `writeFrames` would have written it. */
export async function readFrames(
  content: AsyncIterable<Buffer>,
  listener: FrameListener,
): Promise<{ readonly about: About; readonly entries: number; readonly bytes: number }> {
  const reader = createFrameReader(content)
  const about = parsed(aboutSchema, await reader.expect(letters.about))
  await listener.about(about)
  const seen = new Set<string>()
  let total = 0
  for (;;) {
    const next = await reader.next()
    if (next === null) throw broken('it is cut off')
    if (next.letter === letters.over) {
      const { entries } = parsed(overSchema, next.body)
      if (entries !== seen.size || (await reader.next()) !== null) throw broken('its end does not fit it')
      return { about, entries, bytes: total }
    }
    if (next.letter !== letters.entry) throw broken('its parts are not in order')
    const entry = checkedEntry(parsed(entrySchema, next.body), seen)
    total += await readEntry(reader, entry, await listener.entry(entry))
  }
}

function checkedEntry(entry: Entry, seen: Set<string>): Entry {
  const name =
    entry.kind === 'file'
      ? `file ${checkedPath(entry.path)}`
      : entry.kind === 'database'
        ? entry.kind
        : `data ${entry.agent}`
  if (seen.has(name)) throw broken(`it holds something twice: ${name.slice(0, 200)}`)
  seen.add(name)
  if (seen.size > entriesMax) throw broken(`it holds more than ${entriesMax} files`)
  return entry
}

async function readEntry(reader: FrameReader, entry: Entry, sink: EntrySink | null): Promise<number> {
  const digest = createHash('sha256')
  const tar = entry.kind === 'agent-data' ? createTarCheck() : null
  let bytes = 0
  for (;;) {
    const next = await reader.next()
    if (next?.letter === letters.data) {
      bytes += next.body.length
      digest.update(next.body)
      tar?.take(next.body)
      await sink?.take(next.body)
      continue
    }
    if (next?.letter !== letters.end) throw broken('it is cut off within a file')
    const end = parsed(endSchema, next.body)
    if (end.bytes !== bytes || end.sha256 !== digest.digest('hex')) throw broken('a file in it is damaged')
    tar?.end()
    await sink?.end()
    return bytes
  }
}

interface FrameReader {
  next(): Promise<{ readonly letter: string; readonly body: Buffer } | null>
  expect(letter: string): Promise<Buffer>
}

function createFrameReader(content: AsyncIterable<Buffer>): FrameReader {
  const pieces = content[Symbol.asyncIterator]()
  let held: Buffer = Buffer.alloc(0)

  async function has(count: number): Promise<boolean> {
    while (held.length < count) {
      const next = await pieces.next()
      if (next.done === true) return false
      held = Buffer.concat([held, next.value])
    }
    return true
  }

  async function next() {
    if (!(await has(1))) return null
    if (!(await has(5))) throw broken('it is cut off')
    const letter = String.fromCharCode(held[0] ?? 0)
    const length = held.readUInt32BE(1)
    if (length > (letter === letters.data ? dataBytesMax : wordBytesMax)) {
      throw broken('a part of it has an impossible length')
    }
    if (!(await has(5 + length))) throw broken('it is cut off')
    const body = held.subarray(5, 5 + length)
    held = held.subarray(5 + length)
    return { letter, body }
  }

  return {
    next,
    expect: async (letter) => {
      const found = await next()
      if (found?.letter !== letter) throw broken('its parts are not in order')
      return found.body
    },
  }
}

function parsed<Schema extends z.ZodType>(schema: Schema, body: Buffer): z.infer<Schema> {
  let value: unknown
  try {
    value = JSON.parse(body.toString('utf8'))
  } catch {
    throw broken('a part of it cannot be read')
  }
  const result = schema.safeParse(value)
  if (!result.success) throw broken('a part of it says what no backup says')
  return result.data
}

function word(letter: string, value: unknown): Buffer {
  return frame(letter, Buffer.from(JSON.stringify(value)))
}

function frame(letter: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(letter, 'latin1')
  head.writeUInt32BE(body.length, 1)
  return Buffer.concat([head, body])
}
