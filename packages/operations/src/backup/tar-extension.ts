import type { Problem } from '@flotilla/protocol/problem'
import { broken } from './seal-archive.ts'

/**
 * `x` and `g` are PAX records for the next entry and for all later ones; `L` and `K` are GNU's long name and
 * target.
 */
export type ExtensionLetter = 'x' | 'g' | 'L' | 'K'

/** Values of extended headers for an entry. */
export interface Extension {
  readonly name?: string
  readonly link?: string
  readonly size?: number
  readonly modified?: string
  readonly isSparse?: boolean
}

/**
 * Longer values are cut: a name or target of this length exceeds the limits of Linux, and its entry is skipped. An
 * agent can create such paths, because a tree of folders has no maximum depth.
 */
const valueMaxBytes = 8192
const keyMaxBytes = 256
const lengthMaxDigits = 16

/** Parses the content of one extended header piece by piece; memory does not grow with its size. */
export interface ExtensionReader {
  /** Throws the problem `unprocessable` for malformed records. */
  take(piece: Buffer): void
  /** Later values replace earlier ones. Throws the problem `unprocessable` for an incomplete record. */
  end(): Extension
}

export function createExtensionReader(letter: ExtensionLetter): ExtensionReader {
  if (letter === 'x' || letter === 'g') return createPaxReader()
  let text = ''
  return {
    take: (piece) => {
      text += piece.toString('latin1', 0, valueMaxBytes - text.length)
    },
    end: () => {
      const value = text.replace(/\0+$/, '')
      return letter === 'L' ? { name: value } : { link: value }
    },
  }
}

/** Reads records of a PAX header: a length in bytes, a space, key, equals sign, value, line feed. */
function createPaxReader(): ExtensionReader {
  let found: Extension = {}
  let digits = ''
  /** Bytes of the current record still to come; null while its length is read. */
  let left: number | null = null
  let record = ''

  function readLength(byte: number): void {
    if (byte !== space) {
      digits += String.fromCharCode(byte)
      if (digits.length > lengthMaxDigits) throw damaged()
      return
    }
    left = decimal(digits) - digits.length - 1
    // The shortest record has a key of one byte, an equals sign and a line feed.
    if (left < 3) throw damaged()
    digits = ''
    record = ''
  }

  /** Returns how many bytes were read. */
  function readRecord(piece: Buffer, at: number, length: number): number {
    const count = Math.min(length, piece.length - at)
    const kept = Math.min(count, keyMaxBytes + valueMaxBytes - record.length)
    record += piece.toString('latin1', at, at + kept)
    left = length - count
    if (left > 0) return count
    if (piece[at + count - 1] !== lineFeed) throw damaged()
    const equals = record.indexOf('=')
    // A longer key than any known one may have lost its equals sign.
    if (equals < 1 && record.length < keyMaxBytes) throw damaged()
    if (equals >= 1)
      found = { ...found, ...valueOf(record.slice(0, equals), record.slice(equals + 1).replace(/\n$/, '')) }
    left = null
    return count
  }

  return {
    take: (piece) => {
      for (let at = 0; at < piece.length;) {
        if (left !== null) at += readRecord(piece, at, left)
        else readLength(piece[at++] ?? 0)
      }
    },
    end: () => {
      if (left !== null || digits !== '') throw damaged()
      return found
    },
  }
}

const space = 32
const lineFeed = 10

function valueOf(key: string, value: string): Extension {
  if (key === 'path') return { name: value }
  if (key === 'linkpath') return { link: value }
  if (key === 'size') return { size: decimal(value) }
  if (key === 'mtime') return /^-?\d{1,20}(?:\.\d{1,20})?$/.test(value) ? { modified: value } : {}
  return key.startsWith('GNU.sparse.') ? { isSparse: true } : {}
}

function decimal(text: string): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(value)) throw damaged()
  return value
}

export function damaged(): Problem {
  return broken('the archive of an agent is damaged')
}
