import { createHash } from 'node:crypto'
import * as z from 'zod'
import { readingBounds } from './backup-data-bounds.ts'
import { checkedPath } from './entry-path.ts'
import { createTarFilter } from './filter-tar.ts'
import type { FilteredData } from './filter-tar.ts'
import {
  aboutSchema,
  dataBytesMax,
  endSchema,
  entriesMax,
  entrySchema,
  leftOutSchema,
  letters,
  overSchema,
  wordBytesMax,
  zeroRunMax,
} from './frames.ts'
import type { About, DataNote, Entry } from './frames.ts'
import { broken } from './seal-archive.ts'
import type { Skipped } from './skipped-entries.ts'
import { whyOf } from './why-of.ts'
import { zerosOf } from './zeros.ts'

/** Receives the frames of an archive in order; each call is awaited before the next. */
export interface FrameListener {
  about(about: About): Promise<void> | void
  /** Returns the sink for the content, or null to skip it. `end` is called once the content was verified. */
  entry(entry: Entry): Promise<EntrySink | null> | EntrySink | null
  /** Called with the size of each piece of content, even without a sink. An error from it stops the reading. */
  content?(entry: Entry, bytes: number): Promise<void> | void
}

export interface EntrySink {
  take(piece: Buffer): Promise<void> | void
  end(): Promise<void> | void
}

/** A backup's entry of one agent's data. */
export interface AgentPart {
  readonly agent: string
  /** `left-out`: not readable when the backup was made. `damaged`: damaged since. Neither is restored. */
  readonly state: 'there' | 'left-out' | 'damaged'
  /** The reason, if it is missing. */
  readonly why: string | null
  readonly bytes: number
  readonly skipped: Skipped
  /** The limit that ended reading early; null if everything was read. */
  readonly endedBy: string | null
}

export interface ReadArchive {
  readonly about: About
  readonly entries: number
  readonly bytes: number
  readonly agents: readonly AgentPart[]
}

/**
 * Reads a whole archive. Problem `unprocessable` for anything that `writeFrames` would not have written, and for
 * damage outside of agents' data. Damage in an agent's data is reported in its part of the result, unless a sink has
 * already received some of it.
 */
export async function readFrames(
  content: AsyncIterable<Buffer | null>,
  listener: FrameListener,
): Promise<ReadArchive> {
  const reader = createFrameReader(content)
  const first = await reader.next()
  if (first === 'damaged' || first?.letter !== letters.about)
    throw broken('the parts of the backup are in the wrong order')
  const about = parsed(aboutSchema, first.body)
  await listener.about(about)
  const seen = new Set<string>()
  const agents: AgentPart[] = []
  let total = 0
  for (;;) {
    const next = await reader.next()
    if (next === null) throw broken('the backup ends early')
    if (next === 'damaged') throw broken('the backup is damaged in a part that is not data of agents')
    if (next.letter === letters.over) {
      const { entries } = parsed(overSchema, next.body)
      if (entries !== seen.size || (await reader.next()) !== null)
        throw broken('the end of the backup does not match its content')
      requireFiles(about, seen)
      return { about, entries, bytes: total, agents }
    }
    if (next.letter !== letters.entry) throw broken('the parts of the backup are in the wrong order')
    const entry = checkedEntry(parsed(entrySchema, next.body), seen)
    const sink = await listener.entry(entry)
    const count = async (bytes: number): Promise<void> => listener.content?.(entry, bytes)
    if (entry.kind === 'agent-data') {
      const part = await readAgentData(reader, entry.agent, { sink, count })
      agents.push(part)
      total += part.bytes
    } else total += await readFile(reader, { sink, count })
  }
}

/** Checks that a backup contains all files that it lists. */
function requireFiles({ files, secret_files: secretFiles = [] }: About, seen: ReadonlySet<string>): void {
  const found = [...seen].filter((name) => name.startsWith('file ')).length
  if (files !== undefined && files !== found)
    throw broken(`the backup contains ${found} files, but its index lists ${files}`)
  const missing = secretFiles.find((path) => !seen.has(`file ${path}`))
  if (missing !== undefined)
    throw broken(`the index of the backup lists ${missing}, but the backup does not contain it`)
}

function checkedEntry(entry: Entry, seen: Set<string>): Entry {
  const name =
    entry.kind === 'file'
      ? `file ${checkedPath(entry.path)}`
      : entry.kind === 'database'
        ? entry.kind
        : `data ${entry.agent}`
  if (seen.has(name)) throw broken(`the backup contains the same name twice: ${name.slice(0, 200)}`)
  seen.add(name)
  if (seen.size > entriesMax) throw broken(`the backup contains more than ${entriesMax} files`)
  return entry
}

interface ContentTarget {
  readonly sink: EntrySink | null
  readonly count: (bytes: number) => Promise<void>
}

async function readFile(reader: FrameReader, { sink, count }: ContentTarget): Promise<number> {
  const digest = createHash('sha256')
  let bytes = 0
  for (;;) {
    const next = await reader.next()
    if (next === 'damaged') throw broken('the backup is damaged in a part that is not data of agents')
    const pieces = piecesOf(next)
    if (pieces === null) {
      if (next?.letter !== letters.end) throw broken('the backup ends in the middle of a file')
      const end = parsed(endSchema, next.body)
      if (end.bytes !== bytes || end.sha256 !== digest.digest('hex'))
        throw broken('a file in the backup is damaged')
      await sink?.end()
      return bytes
    }
    for (const piece of pieces) {
      bytes += piece.length
      digest.update(piece)
      await count(piece.length)
      await sink?.take(piece)
    }
  }
}

async function readAgentData(
  reader: FrameReader,
  agent: string,
  { sink, count }: ContentTarget,
): Promise<AgentPart> {
  const digest = createHash('sha256')
  const filter = createTarFilter(readingBounds)
  const read = { bytes: 0, given: 0, fault: null as string | null }
  const part = { agent, skipped: { count: 0, first: [] }, endedBy: null }

  async function give(pieces: Iterable<Buffer>): Promise<void> {
    for (const piece of pieces) {
      read.given += piece.length
      await sink?.take(piece)
    }
  }
  async function takeAll(pieces: Iterable<Buffer>): Promise<void> {
    for (const piece of pieces) {
      read.bytes += piece.length
      await count(piece.length)
      if (read.fault !== null) continue
      digest.update(piece)
      let passed: readonly Buffer[] = []
      try {
        passed = filter.take(piece)
      } catch (error) {
        fail(whyOf(error))
      }
      await give(passed)
    }
  }
  /** Records the error; throws if the sink already has a part of the data, which it must not use as the whole. */
  function fail(why: string): void {
    if (sink !== null && read.given > 0) throw broken(`the data of ${agent} is damaged: ${why}`)
    read.fault ??= why
  }

  for (;;) {
    const next = await reader.next()
    if (next === 'damaged') {
      fail('a part of the data was changed or is unreadable')
      continue
    }
    const pieces = piecesOf(next)
    if (pieces !== null) {
      await takeAll(pieces)
      continue
    }
    if (next?.letter === letters.leftOut) {
      const { why } = parsed(leftOutSchema, next.body)
      if (sink !== null) throw broken(`the backup does not contain the data of ${agent}`)
      return { ...part, state: 'left-out', why, bytes: 0 }
    }
    if (next?.letter !== letters.end) throw broken('the backup ends in the middle of the data of an agent')
    const end = parsed(endSchema, next.body)
    const isSame = end.bytes === read.bytes && end.sha256 === digest.digest('hex')
    if (read.fault === null && !isSame) fail('the data differs from what the backup program wrote')
    const data = read.fault === null ? finished() : null
    if (data === null) return { ...part, state: 'damaged', why: read.fault, bytes: 0 }
    await give(data.pieces)
    await sink?.end()
    return { agent, state: 'there', why: null, bytes: read.bytes, ...skippedOf(data.data, end.note) }
  }

  function finished(): ReturnType<typeof filter.end> | null {
    try {
      return filter.end()
    } catch (error) {
      fail(whyOf(error))
      return null
    }
  }
}

/** Returns what this reader skips if it skips any or has no note (format 1); else what the backup's maker skipped. */
function skippedOf({ skipped, endedBy }: FilteredData, note: DataNote | undefined) {
  const here = { skipped, endedBy }
  return note === undefined || skipped.count > 0 ? here : { skipped: note.skipped, endedBy: note.ended_by }
}

type Frame = { readonly letter: string; readonly body: Buffer }

/** The bytes that a frame holds; null for a frame that holds none. */
function piecesOf(frame: Frame | null): Iterable<Buffer> | null {
  if (frame?.letter === letters.data) return [frame.body]
  if (frame?.letter !== letters.zeros) return null
  const count = frame.body.length === 4 ? frame.body.readUInt32BE(0) : Number.NaN
  if (!(count <= zeroRunMax)) throw broken('a part of the backup has an impossible length')
  return zerosOf(count)
}

interface FrameReader {
  /** Resolves to the next frame, to `damaged` for a part that cannot be read, or to null at the end. */
  next(): Promise<Frame | 'damaged' | null>
}

function createFrameReader(content: AsyncIterable<Buffer | null>): FrameReader {
  const pieces = content[Symbol.asyncIterator]()
  let held: Buffer = Buffer.alloc(0)

  async function has(count: number): Promise<boolean | 'damaged'> {
    while (held.length < count) {
      const next = await pieces.next()
      if (next.done === true) return false
      if (next.value === null) {
        // A frame is never split between chunks (A3), so the next frame begins after this chunk.
        held = Buffer.alloc(0)
        return 'damaged'
      }
      held = held.length === 0 ? next.value : Buffer.concat([held, next.value])
    }
    return true
  }

  return {
    next: async () => {
      const first = await has(1)
      if (first !== true) return first === 'damaged' ? first : null
      const head = await has(5)
      if (head === 'damaged') return head
      if (!head) throw broken('the backup ends early')
      const letter = String.fromCharCode(held[0] ?? 0)
      const length = held.readUInt32BE(1)
      if (length > (letter === letters.data ? dataBytesMax : wordBytesMax))
        throw broken('a part of the backup has an impossible length')
      const whole = await has(5 + length)
      if (whole === 'damaged') return whole
      if (!whole) throw broken('the backup ends early')
      const body = held.subarray(5, 5 + length)
      held = held.subarray(5 + length)
      return { letter, body }
    },
  }
}

function parsed<Schema extends z.ZodType>(schema: Schema, body: Buffer): z.infer<Schema> {
  let value: unknown
  try {
    value = JSON.parse(body.toString('utf8'))
  } catch {
    throw broken('a part of the backup cannot be read')
  }
  const result = schema.safeParse(value)
  if (!result.success) throw broken('a part of the backup has unknown content')
  return result.data
}
