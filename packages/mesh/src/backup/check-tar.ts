import { broken } from './seal-archive.ts'

const blockBytes = 512
/** Files and folders of one agent; what ext4 gives a volume of a terabyte would not be read in a day. */
const entriesMax = 5_000_000
/** Longest name that one header may carry. */
const longNameMaxBytes = 64 * 1024
/** Remembered links of one agent, through which nothing may be written. */
const linksMax = 1_000_000

/** Takes an archive of an agent's data piece by piece, and looks at what it would make. */
export interface TarCheck {
  /** Problem `unprocessable` at the first entry that would leave the data's folder or be anything but a file, folder or link. */
  take(piece: Buffer): void
  /** Problem `unprocessable` where the archive broke off. */
  end(): { readonly entries: number; readonly bytes: number }
}

/**
 * Reads POSIX and GNU headers and skips contents. An agent made these files and is hostile: no name may be absolute or lead
 * upwards, a hard link only lead to a name inside, nothing lie below a link, and there are no devices, pipes or others.
 */
export function createTarCheck(): TarCheck {
  let held: Buffer = Buffer.alloc(0)
  /** Bytes of content still to come, with what fills its last block. */
  let skip = 0
  let zeros = 0
  let entries = 0
  let bytes = 0
  let gathers: { readonly kind: string; left: number; pad: number; pieces: Buffer[] } | null = null
  const next = { name: null as string | null, link: null as string | null, size: null as number | null }
  const links = new Set<string>()

  function header(block: Buffer): void {
    if (block.every((byte) => byte === 0)) {
      zeros += 1
      return
    }
    if (zeros > 0) throw broken('an archive of an agent goes on behind its end')
    if (!sumHolds(block)) throw broken('an archive of an agent is damaged')
    const kind = String.fromCharCode(block[156] ?? 0)
    const size = next.size ?? numberIn(block, 124, 12)
    if (kind === 'x' || kind === 'g' || kind === 'L' || kind === 'K') {
      const length = numberIn(block, 124, 12)
      if (length > longNameMaxBytes) throw broken('an archive of an agent has a name without end')
      gathers = { kind, left: length, pad: padOf(length), pieces: [] }
      if (length === 0) gathered()
      return
    }
    entry({
      kind,
      name: next.name ?? nameIn(block),
      link: next.link ?? textIn(block, 157, 100),
      size,
    })
    Object.assign(next, { name: null, link: null, size: null })
    const content = kind === '0' || kind === '\0' || kind === '7' ? size : 0
    bytes += content
    skip = content + padOf(content)
  }

  function entry(one: { kind: string; name: string; link: string; size: number }): void {
    entries += 1
    if (entries > entriesMax) throw broken('an agent has more files than are taken')
    const shown = JSON.stringify(one.name).slice(0, 200)
    const name = insideOf(one.name)
    if (name === null) throw broken(`data of an agent would leave its folder: ${shown}`)
    if (!/^[01257\0]$/.test(one.kind)) throw broken(`data of an agent holds a device or the like: ${shown}`)
    if (one.size < 0 || !Number.isSafeInteger(one.size)) throw broken(`data of an agent is damaged: ${shown}`)
    if (one.kind === '1' && insideOf(one.link) === null) {
      throw broken(`data of an agent holds a hard link that leads out of it: ${shown}`)
    }
    for (let at = name.indexOf('/'); at >= 0; at = name.indexOf('/', at + 1)) {
      if (links.has(name.slice(0, at))) throw broken(`data of an agent lies behind a link: ${shown}`)
    }
    if (one.kind !== '2') return
    if (links.size >= linksMax) throw broken('an agent has more links than are taken')
    links.add(name)
  }

  function gathered(): void {
    if (!gathers) return
    const text = Buffer.concat(gathers.pieces).toString('utf8')
    const { kind } = gathers
    skip = gathers.pad
    gathers = null
    if (kind === 'L') next.name = text.replace(/\0+$/, '')
    else if (kind === 'K') next.link = text.replace(/\0+$/, '')
    else if (kind === 'x') {
      for (const [key, value] of paxRecords(text)) {
        if (key === 'path') next.name = value
        else if (key === 'linkpath') next.link = value
        else if (key === 'size') next.size = Number(value)
      }
    }
  }

  return {
    take: (piece) => {
      held = held.length === 0 ? piece : Buffer.concat([held, piece])
      let at = 0
      while (at < held.length) {
        if (skip > 0) {
          const step = Math.min(skip, held.length - at)
          skip -= step
          at += step
        } else if (gathers) {
          const step = Math.min(gathers.left, held.length - at)
          gathers.pieces.push(Buffer.from(held.subarray(at, at + step)))
          gathers.left -= step
          at += step
          if (gathers.left === 0) gathered()
        } else if (held.length - at >= blockBytes) {
          header(held.subarray(at, at + blockBytes))
          at += blockBytes
        } else break
      }
      held = Buffer.from(held.subarray(at))
    },
    end: () => {
      if (skip > 0 || gathers || held.length > 0 || zeros < 1)
        throw broken('an archive of an agent is cut off')
      return { entries, bytes }
    },
  }
}

/** The name as it would be below the folder; null where it would lie elsewhere. Pure. */
function insideOf(name: string): string | null {
  if (name === '' || name.startsWith('/') || name.includes('\0')) return null
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  return parts.includes('..') ? null : parts.join('/')
}

const padOf = (size: number): number => (blockBytes - (size % blockBytes)) % blockBytes

function textIn(block: Buffer, at: number, length: number): string {
  const end = block.indexOf(0, at)
  return block.toString('utf8', at, end >= at && end < at + length ? end : at + length)
}

function nameIn(block: Buffer): string {
  const name = textIn(block, 0, 100)
  const prefix = block.toString('latin1', 257, 263) === 'ustar\0' ? textIn(block, 345, 155) : ''
  return prefix === '' ? name : `${prefix}/${name}`
}

/** Octal, or where the first bit is set base 256, as GNU writes large ones. */
function numberIn(block: Buffer, at: number, length: number): number {
  const first = block[at] ?? 0
  if ((first & 0x80) === 0) {
    const text = textIn(block, at, length).trim()
    return text === '' ? 0 : Number.parseInt(text, 8)
  }
  let value = first & 0x7f
  for (let index = 1; index < length; index++) value = value * 256 + (block[at + index] ?? 0)
  return value
}

function sumHolds(block: Buffer): boolean {
  let sum = 0
  for (let index = 0; index < blockBytes; index++)
    sum += index >= 148 && index < 156 ? 32 : (block[index] ?? 0)
  return sum === numberIn(block, 148, 8)
}

function paxRecords(text: string): readonly (readonly [string, string])[] {
  const bytes = Buffer.from(text, 'utf8')
  const records: [string, string][] = []
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(32, at)
    const length = Number(bytes.toString('latin1', at, space))
    if (space < 0 || !Number.isInteger(length) || length < 5 || at + length > bytes.length) break
    const record = bytes.toString('utf8', space + 1, at + length - 1)
    const equals = record.indexOf('=')
    if (equals > 0) records.push([record.slice(0, equals), record.slice(equals + 1)])
    at += length
  }
  return records
}
