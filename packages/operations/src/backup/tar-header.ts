import { damaged } from './tar-extension.ts'
import type { Extension, ExtensionLetter } from './tar-extension.ts'

/**
 * One header of a POSIX or GNU archive. Names and link targets are byte strings with one character a byte (latin1):
 * file systems allow any byte except zero and slash, and decoding would change names that are not UTF-8. Pure.
 */
export const blockBytes = 512
/** The owner of all data in an agent's sandbox. */
const agentUid = 1000
/** The range that ext4 can store; other times are clamped to it. */
const secondsMin = -(2 ** 31)
const secondsMax = 2 ** 34 - 2 ** 31 - 1
const octalMax = 8 ** 11

export type EntryKind = 'file' | 'folder' | 'symlink' | 'hard-link' | 'device' | 'pipe' | 'sparse' | 'unknown'

export interface TarEntry {
  readonly kind: EntryKind
  readonly name: string
  /** Target of a link. */
  readonly link: string
  /** Bytes of content that follow the header. */
  readonly size: number
  readonly mode: number
  /** Seconds since 1970, a decimal number that may have a sign and a fraction. */
  readonly modified: string
}

const kinds: Readonly<Record<string, EntryKind>> = {
  '\0': 'file',
  '0': 'file',
  '7': 'file',
  '1': 'hard-link',
  '2': 'symlink',
  '3': 'device',
  '4': 'device',
  '5': 'folder',
  '6': 'pipe',
  S: 'sparse',
}
const letters = { file: '0', 'hard-link': '1', symlink: '2', folder: '5' } as const
/** For other kinds the size field does not describe content and is ignored. */
const withContent: ReadonlySet<EntryKind> = new Set(['file', 'sparse', 'unknown'])

export type Header =
  | { readonly type: 'end' }
  /** Metadata of the next entry: `x` and `g` are PAX, `L` and `K` are GNU's long name and long target. */
  | { readonly type: 'extension'; readonly letter: ExtensionLetter; readonly size: number }
  /** With `mapFollows`, blocks with the rest of a sparse file's map are between the header and the content. */
  | { readonly type: 'entry'; readonly entry: TarEntry; readonly mapFollows: boolean }

/** Throws the problem `unprocessable` for a block that is not a valid header. */
export function readHeader(block: Buffer, extension: Extension): Header {
  if (block.every((byte) => byte === 0)) return { type: 'end' }
  if (!sumHolds(block)) throw damaged()
  const letter = String.fromCharCode(block[156] ?? 0)
  const size = numberIn(block, 124, 12)
  if (letter === 'x' || letter === 'g' || letter === 'L' || letter === 'K')
    return { type: 'extension', letter, size: positive(size) }
  const name = extension.name ?? nameIn(block)
  // Only the oldest archives mark a folder by a slash after its name, and they have no extended headers.
  const isOldFolder = extension.name === undefined && name.endsWith('/')
  const plain = kinds[letter] ?? 'unknown'
  const kind = extension.isSparse === true ? 'sparse' : plain === 'file' && isOldFolder ? 'folder' : plain
  const entry: TarEntry = {
    kind,
    name,
    link: extension.link ?? textIn(block, 157, 100),
    size: withContent.has(kind) ? positive(extension.size ?? size) : 0,
    mode: numberIn(block, 100, 8) & 0o7777,
    modified: extension.modified ?? String(numberIn(block, 136, 12)),
  }
  return { type: 'entry', entry, mapFollows: letter === 'S' && block[482] !== 0 }
}

/** Whether one more block of a sparse file's map follows after this one. */
export const mapGoesOn = (block: Buffer): boolean => block[504] !== 0

/**
 * The header of an entry as this program writes it, whatever its source: the agent is the owner, set-user-id bits are
 * removed, and values that do not fit are in a preceding PAX header.
 */
export function writeHeader(entry: TarEntry): Buffer {
  const { kind, size, link } = entry
  if (!(kind in letters)) throw new TypeError(`no header is written for ${kind}`)
  const name = kind === 'folder' && !entry.name.endsWith('/') ? `${entry.name}/` : entry.name
  const modified = timeOf(entry.modified)
  const records = [
    name.length > 100 ? paxRecord('path', name) : '',
    link.length > 100 ? paxRecord('linkpath', link) : '',
    size >= octalMax ? paxRecord('size', String(size)) : '',
    /^\d+$/.test(modified) && Number(modified) < octalMax ? '' : paxRecord('mtime', modified),
  ].join('')
  const mode = kind === 'file' ? entry.mode & 0o1777 : entry.mode
  const header = headerBlock({
    letter: letters[kind as keyof typeof letters],
    name,
    link,
    size,
    mode,
    modified,
  })
  if (records === '') return header
  const content = Buffer.from(records, 'latin1')
  const fields = {
    letter: 'x',
    name: './PaxHeader',
    link: '',
    size: content.length,
    mode: 0o600,
    modified: '0',
  }
  return Buffer.concat([headerBlock(fields), content, Buffer.alloc(padOf(content.length)), header])
}

function headerBlock(of: {
  readonly letter: string
  readonly name: string
  readonly link: string
  readonly size: number
  readonly mode: number
  readonly modified: string
}): Buffer {
  const block = Buffer.alloc(blockBytes)
  const octal = (value: number, at: number, digits: number) =>
    block.write((value < 8 ** digits ? value : 0).toString(8).padStart(digits, '0'), at)
  block.write(of.name.slice(0, 100), 0, 'latin1')
  octal(of.mode, 100, 7)
  octal(agentUid, 108, 7)
  octal(agentUid, 116, 7)
  octal(of.size, 124, 11)
  octal(Math.max(0, Math.floor(Number(of.modified))), 136, 11)
  block.write(' '.repeat(8), 148)
  block.write(of.letter, 156)
  block.write(of.link.slice(0, 100), 157, 'latin1')
  block.write('ustar\u000000', 257)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`
  let length = rest.length
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length
  return `${length}${rest}`
}

function timeOf(modified: string): string {
  const seconds = Number(modified)
  if (seconds < secondsMin) return String(secondsMin)
  if (seconds > secondsMax) return String(secondsMax)
  return modified
}

export const padOf = (size: number): number => (blockBytes - (size % blockBytes)) % blockBytes

function textIn(block: Buffer, at: number, length: number): string {
  const end = block.indexOf(0, at)
  return block.toString('latin1', at, end >= at && end < at + length ? end : at + length)
}

function nameIn(block: Buffer): string {
  const name = textIn(block, 0, 100)
  const prefix = block.toString('latin1', 257, 263) === 'ustar\0' ? textIn(block, 345, 155) : ''
  return prefix === '' ? name : `${prefix}/${name}`
}

/** Reads a number: octal, or binary if the first bit is set, as GNU writes large and negative numbers. */
function numberIn(block: Buffer, at: number, length: number): number {
  if (((block[at] ?? 0) & 0x80) === 0) {
    const text = textIn(block, at, length).trim()
    if (!/^[0-7]*$/.test(text)) throw damaged()
    return text === '' ? 0 : Number.parseInt(text, 8)
  }
  const bits = BigInt(`0x${block.toString('hex', at, at + length)}`)
  const width = length * 8
  // The first bit only marks the binary format; the second one is the sign.
  return Number(BigInt.asIntN(width - 1, bits))
}

function positive(size: number): number {
  if (size < 0 || !Number.isSafeInteger(size)) throw damaged()
  return size
}

function sumHolds(block: Buffer): boolean {
  let sum = 0
  for (let index = 0; index < blockBytes; index++)
    sum += index >= 148 && index < 156 ? 32 : (block[index] ?? 0)
  return sum === numberIn(block, 148, 8)
}
