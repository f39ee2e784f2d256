import { createCipheriv, createDecipheriv, createHash, scrypt } from 'node:crypto'
import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'

/**
 * The outer layer of a backup: one line of JSON that describes the encryption, then chunks. Each chunk is a length of
 * four bytes, the content, and a tag of sixteen bytes.
 *
 * - A1 With a passphrase, each chunk is AES-256-GCM under a key derived with scrypt; the first line is authenticated
 *   with every chunk. Without a passphrase, the tag is a digest, which detects damage but no forgery.
 * - A2 The chunk number and whether it is the last one are part of its nonce or digest, so that missing, moved and
 *   truncated chunks are detected.
 * - A3 A piece of the content that fits into a chunk is never split, and an empty piece ends the chunk before it. A
 *   reader can continue after a damaged chunk, because the next one starts with a piece.
 */
const formatName = 'flotilla-backup'
/** Since format 2, chunks contain whole frames, and those with agents' data contain nothing else (`frames.ts`). */
const formatVersion = 2
const chunkBytes = 256 * 1024
const tagBytes = 16
export const headerMaxBytes = 4096
/** One guess of a passphrase costs 128 MB of memory and about half a second. */
const scryptCost = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 } as const
/** Limits the scrypt cost in a header; a hostile header could keep its reader computing for hours. */
const scryptCostMax = 2 ** 18

const headerSchema = z.strictObject({
  format: z.literal(formatName),
  version: z.int(),
  closed: z.discriminatedUnion('by', [
    z.strictObject({ by: z.literal('nothing') }),
    z.strictObject({
      by: z.literal('passphrase'),
      cipher: z.literal('aes-256-gcm'),
      scrypt_n: z.int().min(2).max(scryptCostMax),
      salt: z.string().regex(/^[0-9a-f]{64}$/),
      nonce: z.string().regex(/^[0-9a-f]{14}$/),
    }),
  ]),
})

type Header = z.infer<typeof headerSchema>

interface Closing {
  seal(chunk: Buffer, number: number, isLast: boolean): Buffer
  /** Throws if the chunk is not the one that was sealed. */
  open(sealed: Buffer, number: number, isLast: boolean): Buffer
}

/** Yields the sealed archive of `content`. With `passphrase` null the archive is not encrypted. */
export async function* sealArchive(
  content: AsyncIterable<Buffer>,
  options: {
    readonly passphrase: string | null
    readonly randomBytes: (count: number) => Buffer
    /** The scrypt cost; tests use a lower one. */
    readonly scryptN?: number
  },
): AsyncGenerator<Buffer> {
  const { passphrase, randomBytes, scryptN = scryptCost.N } = options
  const header: Header = {
    format: formatName,
    version: formatVersion,
    closed:
      passphrase === null
        ? { by: 'nothing' }
        : {
            by: 'passphrase',
            cipher: 'aes-256-gcm',
            scrypt_n: scryptN,
            salt: randomBytes(32).toString('hex'),
            nonce: randomBytes(7).toString('hex'),
          },
  }
  const line = Buffer.from(`${JSON.stringify(header)}\n`)
  const closing = await closingOf(header, line, passphrase)
  yield line
  let number = 0
  let waiting: Buffer[] = []
  let bytes = 0
  // Each chunk is sealed only when the next one is known, because the last chunk has a mark.
  let before: Buffer | null = null
  function* closed(chunk: Buffer): Generator<Buffer> {
    if (before !== null) yield framed(closing.seal(before, number++, false))
    before = chunk
    waiting = []
    bytes = 0
  }
  for await (const piece of content) {
    if (bytes > 0 && (piece.length === 0 || bytes + piece.length > chunkBytes))
      yield* closed(Buffer.concat(waiting))
    let at = 0
    for (; piece.length - at > chunkBytes; at += chunkBytes)
      yield* closed(piece.subarray(at, at + chunkBytes))
    waiting.push(piece.subarray(at))
    bytes += piece.length - at
  }
  if (bytes > 0 || before === null) yield* closed(Buffer.concat(waiting))
  yield framed(closing.seal(before ?? Buffer.alloc(0), number, true))
}

/**
 * The content of an archive. A chunk is returned only after its seal was verified; null replaces a damaged chunk
 * between the first and the last. Problem `unprocessable` if the first or last one is damaged or the archive has the
 * wrong length, `unauthenticated` for a wrong or missing passphrase.
 */
export async function* openArchive(
  archive: AsyncIterable<Buffer>,
  passphrase: string | null,
): AsyncGenerator<Buffer | null> {
  const reader = createReader(archive)
  const line = await reader.line(headerMaxBytes)
  const header = headerOf(line)
  const closing = await closingOf(header, line, passphrase)
  for (let number = 0; ; number++) {
    const length = (await reader.take(4)).readUInt32BE(0)
    if (length < tagBytes || length > chunkBytes + tagBytes)
      throw broken('a part of the encrypted backup has an impossible length')
    const sealed = await reader.take(length)
    const isLast = await reader.isOver()
    let chunk: Buffer | null
    try {
      chunk = closing.open(sealed, number, isLast)
    } catch {
      if (number === 0 && header.closed.by === 'passphrase') {
        throw new Problem('unauthenticated', {
          detail: 'the passphrase is wrong, or the beginning of the backup is damaged',
          repair: 'Try another passphrase; nothing was written.',
        })
      }
      if (isLast || number === 0 || header.version < 2)
        throw broken(
          isLast
            ? 'the backup ends early, or its end is damaged'
            : `the backup is damaged in part ${number + 1}`,
        )
      chunk = null
    }
    yield chunk
    if (isLast) return
  }
}

/** Whether a backup with this first line needs a passphrase. Pure. */
export function isClosed(line: Buffer): boolean {
  return headerOf(line).closed.by === 'passphrase'
}

function headerOf(line: Buffer): Header {
  const parsed = headerSchema.safeParse(jsonOf(line))
  if (!parsed.success) throw broken('the file is not a backup of Flotilla')
  if (parsed.data.version > formatVersion) {
    throw broken(
      `the backup has format ${parsed.data.version}, and this release reads only format ${formatVersion}`,
    )
  }
  return parsed.data
}

function jsonOf(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'))
  } catch {
    return null
  }
}

async function closingOf({ closed }: Header, line: Buffer, passphrase: string | null): Promise<Closing> {
  if (closed.by === 'nothing') return digested(line)
  if (passphrase === null) {
    throw new Problem('unauthenticated', {
      detail: 'this backup is encrypted',
      repair: 'Name the file with the passphrase of the backup: --passphrase-file FILE.',
    })
  }
  const salt = Buffer.from(closed.salt, 'hex')
  const key = await keyOf(passphrase, salt, closed.scrypt_n)
  const prefix = Buffer.from(closed.nonce, 'hex')
  const nonceOf = (number: number, isLast: boolean) => {
    const nonce = Buffer.alloc(12)
    prefix.copy(nonce)
    nonce.writeUInt32BE(number, 7)
    nonce.writeUInt8(isLast ? 1 : 0, 11)
    return nonce
  }
  return {
    seal: (chunk, number, isLast) => {
      const cipher = createCipheriv('aes-256-gcm', key, nonceOf(number, isLast)).setAAD(line)
      return Buffer.concat([cipher.update(chunk), cipher.final(), cipher.getAuthTag()])
    },
    open: (sealed, number, isLast) => {
      const at = sealed.length - tagBytes
      const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(number, isLast), {
        authTagLength: tagBytes,
      })
      decipher.setAAD(line).setAuthTag(sealed.subarray(at))
      return Buffer.concat([decipher.update(sealed.subarray(0, at)), decipher.final()])
    },
  }
}

function digested(line: Buffer): Closing {
  const tagOf = (chunk: Buffer, number: number, isLast: boolean) =>
    createHash('sha256')
      .update(line)
      .update(`${number}:${isLast}:`)
      .update(chunk)
      .digest()
      .subarray(0, tagBytes)
  return {
    seal: (chunk, number, isLast) => Buffer.concat([chunk, tagOf(chunk, number, isLast)]),
    open: (sealed, number, isLast) => {
      const at = sealed.length - tagBytes
      const chunk = sealed.subarray(0, at)
      if (!tagOf(chunk, number, isLast).equals(sealed.subarray(at))) throw broken('the backup is damaged')
      return chunk
    },
  }
}

function keyOf(passphrase: string, salt: Buffer, n: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(passphrase.normalize('NFC'), salt, 32, { ...scryptCost, N: n }, (error, key) => {
      if (error) reject(error)
      else resolve(key)
    })
  })
}

function framed(sealed: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(sealed.length)
  return Buffer.concat([length, sealed])
}

export function broken(why: string): Problem {
  return new Problem('unprocessable', {
    detail: `this backup cannot be used: ${why}`,
    extra: { why },
    repair: 'Use another copy of this file, or another backup; nothing was written.',
  })
}

function createReader(source: AsyncIterable<Buffer>) {
  const pieces = source[Symbol.asyncIterator]()
  let held: Buffer = Buffer.alloc(0)
  let ended = false

  async function more(): Promise<boolean> {
    if (ended) return false
    const next = await pieces.next()
    if (next.done === true) ended = true
    else held = held.length === 0 ? Buffer.from(next.value) : Buffer.concat([held, next.value])
    return !ended
  }

  async function take(count: number): Promise<Buffer> {
    while (held.length < count) if (!(await more())) throw broken('it is cut off')
    const taken = held.subarray(0, count)
    held = held.subarray(count)
    return taken
  }

  return {
    take,
    isOver: async () => {
      while (held.length === 0) if (!(await more())) return true
      return false
    },
    line: async (max: number) => {
      for (;;) {
        const at = held.indexOf(10)
        if (at >= 0 && at < max) return take(at + 1)
        if (held.length >= max || !(await more())) throw broken('the file is not a backup of Flotilla')
      }
    },
  }
}
