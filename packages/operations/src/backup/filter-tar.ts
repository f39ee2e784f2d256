import { createEntryRules, shownName } from './agent-entry-rules.ts'
import { broken } from './seal-archive.ts'
import { zerosOf } from './zeros.ts'
import { createSkippedList } from './skipped-entries.ts'
import type { Skipped } from './skipped-entries.ts'
import { createExtensionReader } from './tar-extension.ts'
import type { Extension, ExtensionReader } from './tar-extension.ts'
import { blockBytes, mapGoesOn, padOf, readHeader, writeHeader } from './tar-header.ts'
import type { TarEntry } from './tar-header.ts'

export interface TarBounds {
  /** The maximum number of accepted files, folders and links. */
  readonly entriesMax: number
  /** The maximum size of accepted contents, as programs see it: holes of sparse files count. */
  readonly bytesMax: number
  /** What sets `bytesMax`, as text. */
  readonly bytesBy: string
  /** The maximum number of bytes read, those of skipped entries included. */
  readonly readMaxBytes: number
}

export interface FilteredData {
  readonly entries: number
  readonly bytes: number
  readonly skipped: Skipped
  /** The limit that ended reading early; null if everything was read. */
  readonly endedBy: string | null
}

/** Filters an archive of an agent's data piece by piece; the output has only entries that a backup may contain. */
export interface TarFilter {
  /** Returns the bytes to write. Throws the problem `unprocessable` if the archive is damaged. */
  take(piece: Buffer): readonly Buffer[]
  /** True once a limit ended the reading: later input is ignored. */
  isOver(): boolean
  /** Whether the end-of-archive marker was read. */
  isWhole(): boolean
  /** Lists an entry that the archive does not contain. */
  note(name: string, why: string): void
  /** Throws the problem `unprocessable` if the archive is truncated. */
  end(): FilteredEnd
  /**
   * Ends an archive that its packer truncated: keeps the complete entries, fills up the last file with zeros, and
   * lists it.
   */
  endEarly(): FilteredEnd
}

export interface FilteredEnd {
  /** Pieces to write to the archive after all pieces that `take` returned. */
  readonly pieces: Iterable<Buffer>
  readonly data: FilteredData
}

interface State {
  held: Buffer
  /** Remaining bytes of the content, including the padding of its last block. */
  left: number
  /** The entry that these bytes belong to, if they are written to the output. */
  passes: string | null
  /** The extended header that is being parsed. */
  gathers: { readonly reader: ExtensionReader; readonly isForAll: boolean; left: number; pad: number } | null
  /** Values for the next entry. */
  extension: Extension
  /** Values for all later entries without values of their own. */
  common: Extension
  /** True if blocks with a sparse file's map come before the content. */
  isInMap: boolean
  zeros: number
  read: number
  entries: number
  bytes: number
  endedBy: string | null
}

export function createTarFilter(bounds: TarBounds): TarFilter {
  const rules = createEntryRules()
  const skipped = createSkippedList()
  const state: State = {
    held: Buffer.alloc(0),
    left: 0,
    passes: null,
    gathers: null,
    extension: {},
    common: {},
    isInMap: false,
    zeros: 0,
    read: 0,
    entries: 0,
    bytes: 0,
    endedBy: null,
  }

  function skip(entry: TarEntry, why: string): null {
    skipped.add(shownName(entry.name), why)
    state.passes = null
    return null
  }

  /** The header to write; null for a skipped entry. */
  function taken(entry: TarEntry): Buffer | null {
    if (state.entries >= bounds.entriesMax) {
      state.endedBy = `the data of the agent has more than ${bounds.entriesMax} files and folders; pack some of them into archives, or delete them`
      return skip(entry, 'the maximum number of files was reached')
    }
    if (entry.kind === 'file' && entry.size > bounds.bytesMax - state.bytes)
      return skip(
        entry,
        `with this file of ${inMb(entry.size)} the agent’s data would be larger than ${inMb(bounds.bytesMax)}, ${bounds.bytesBy}`,
      )
    const verdict = rules(entry)
    if (!verdict.ok) return skip(entry, verdict.why)
    const header = writeHeader({ ...entry, name: verdict.name === '' ? './' : verdict.name })
    state.entries += 1
    state.bytes += entry.size
    state.passes = entry.name
    return header
  }

  function readBlock(block: Buffer): Buffer | null {
    if (state.isInMap) {
      state.isInMap = mapGoesOn(block)
      return null
    }
    const header = readHeader(block, { ...state.common, ...state.extension })
    if (header.type === 'end') {
      state.zeros += 1
      return null
    }
    if (state.zeros > 0) throw broken('the data of an agent continues after the end of its archive')
    if (header.type === 'extension') {
      const { letter, size } = header
      const reader = createExtensionReader(letter)
      state.gathers = { reader, isForAll: letter === 'g', left: size, pad: padOf(size) }
      if (header.size === 0) gathered()
      return null
    }
    state.extension = {}
    state.isInMap = header.mapFollows
    state.left = header.entry.size + padOf(header.entry.size)
    return taken(header.entry)
  }

  function gathered(): void {
    if (!state.gathers) return
    const { reader, isForAll, pad } = state.gathers
    if (isForAll) state.common = { ...state.common, ...reader.end() }
    else state.extension = { ...state.extension, ...reader.end() }
    state.gathers = null
    state.left = pad
    state.passes = null
  }

  /** Returns how many bytes from `at` on were processed; 0 if more input is needed first. */
  function step(bytes: Buffer, at: number, out: Buffer[]): number {
    if (state.left > 0 && !state.isInMap) {
      const count = Math.min(state.left, bytes.length - at)
      state.left -= count
      if (state.passes !== null) out.push(bytes.subarray(at, at + count))
      return count
    }
    if (state.gathers) {
      const count = Math.min(state.gathers.left, bytes.length - at)
      state.gathers.reader.take(bytes.subarray(at, at + count))
      state.gathers.left -= count
      if (state.gathers.left === 0) gathered()
      return count
    }
    if (bytes.length - at < blockBytes) return 0
    const header = readBlock(bytes.subarray(at, at + blockBytes))
    if (header) out.push(header)
    return blockBytes
  }

  return {
    take: (piece) => {
      const out: Buffer[] = []
      if (state.endedBy !== null) return out
      state.read += piece.length
      const bytes = state.held.length === 0 ? piece : Buffer.concat([state.held, piece])
      let at = 0
      while (at < bytes.length && state.endedBy === null) {
        const count = step(bytes, at, out)
        if (count === 0) break
        at += count
      }
      state.held = Buffer.from(bytes.subarray(at))
      // The limit does not end a file that is being written: its header, already written, contains its size.
      if (state.read > bounds.readMaxBytes && !(state.passes !== null && state.left > 0))
        state.endedBy ??= `reading ended after ${inMb(bounds.readMaxBytes)}, because files are larger than its limit; delete them or raise data_limit_mb`
      return out
    },
    isOver: () => state.endedBy !== null,
    isWhole: () => state.zeros > 0 && state.left === 0,
    note: skipped.add,
    end: () => {
      const isWhole = state.left === 0 && !state.gathers && state.held.length === 0 && state.zeros > 0
      if (!isWhole && state.endedBy === null) throw broken('the archive of an agent ends early')
      return ended(0)
    },
    endEarly: () => {
      const missing = state.passes === null ? 0 : state.left
      if (missing > 0) skipped.add(shownName(state.passes ?? ''), shortenedWords)
      state.endedBy ??= earlyWords
      return ended(missing)
    },
  }

  function ended(missing: number): FilteredEnd {
    const { entries, bytes, endedBy } = state
    return { pieces: lastPieces(missing), data: { entries, bytes, skipped: skipped.list(), endedBy } }
  }
}

function* lastPieces(missing: number): Generator<Buffer> {
  yield* zerosOf(missing)
  yield Buffer.alloc(2 * blockBytes)
}

/** An engine ends an archive early if a file became shorter than its header says. */
const earlyWords = 'its archive ended early, as when a file becomes shorter while it is read'
const shortenedWords = 'it became shorter while it was read: the backup has zeros in place of its end'

const inMb = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024)} MB`
