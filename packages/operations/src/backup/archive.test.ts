import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkedPath } from './entry-path.ts'
import { writeFrames } from './frames.ts'
import type { About, Entry, SourceEntry } from './frames.ts'
import { readFrames } from './read-frames.ts'
import { broken, openArchive, sealArchive } from './seal-archive.ts'

async function* pieces(...all: readonly Uint8Array[]): AsyncGenerator<Buffer> {
  for (const one of all) yield Buffer.from(one)
}

async function whole(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(source))
}

const seal = (content: Buffer, passphrase: string | null) =>
  whole(sealArchive(pieces(content), { passphrase, randomBytes, scryptN: 1024 }))
/** Opens an archive and joins its chunks; a damaged chunk is null and ends it. */
async function open(archive: Buffer, passphrase: string | null): Promise<Buffer> {
  const chunks = await Array.fromAsync(openArchive(pieces(archive), passphrase))
  if (chunks.includes(null)) throw broken('a chunk is damaged')
  return Buffer.concat(chunks.filter((chunk) => chunk !== null))
}
const refusedAtAll = expect.objectContaining({
  code: expect.stringMatching(/^(?:unprocessable|unauthenticated)$/),
})
const unusable = expect.objectContaining({ code: 'unprocessable' })

describe('a sealed archive', () => {
  test.each([0, 1, 262_143, 262_144, 262_145, 1_000_000])(
    'a sealed archive of %d bytes opens with its original content',
    async (size) => {
      const content = randomBytes(size)
      expect((await open(await seal(content, null), null)).equals(content)).toBe(true)
      const closed = await seal(content, 'a passphrase')
      expect((await open(closed, 'a passphrase')).equals(content)).toBe(true)
      if (size > 16) expect(closed.includes(content.subarray(0, 16))).toBe(false)
    },
  )

  test('a sealed archive takes the right passphrase and no other', async () => {
    const closed = await seal(Buffer.from('content'), 'a passphrase')
    const refused = expect.objectContaining({ code: 'unauthenticated' })
    await expect(open(closed, 'another')).rejects.toEqual(refused)
    await expect(open(closed, null)).rejects.toEqual(refused)
  })

  test.each(['a passphrase', null])(
    'a sealed archive closed by %s is found out wherever it is cut',
    async (passphrase) => {
      const archive = await seal(randomBytes(600_000), passphrase)
      for (const length of [10, 300, 262_500, 525_000, archive.length - 600, archive.length - 1]) {
        await expect(open(archive.subarray(0, length), passphrase), String(length)).rejects.toEqual(
          refusedAtAll,
        )
      }
      // A cut at the end of a chunk is detected, too: only its mark shows that it is not the last.
      const line = archive.indexOf(10) + 1
      const first = line + 4 + archive.readUInt32BE(line)
      await expect(open(archive.subarray(0, first), passphrase)).rejects.toEqual(refusedAtAll)
      await expect(open(Buffer.concat([archive, Buffer.from('more')]), passphrase)).rejects.toEqual(unusable)
    },
  )

  test.each(['a passphrase', null])(
    'a sealed archive closed by %s is found out wherever it is changed',
    async (passphrase) => {
      const archive = await seal(randomBytes(300_000), passphrase)
      const line = archive.indexOf(10) + 1
      for (const at of [line + 10, 100_000, archive.length - 5]) {
        const changed = Buffer.from(archive)
        changed[at] = (changed[at] ?? 0) ^ 1
        await expect(open(changed, passphrase), String(at)).rejects.toEqual(refusedAtAll)
      }
      // Two chunks of the same length in the other order.
      const many = await seal(randomBytes(262_144 * 3), passphrase)
      const size = 4 + many.readUInt32BE(many.indexOf(10) + 1)
      const begin = many.indexOf(10) + 1
      const swapped = Buffer.concat([
        many.subarray(0, begin),
        many.subarray(begin + size, begin + 2 * size),
        many.subarray(begin, begin + size),
        many.subarray(begin + 2 * size),
      ])
      await expect(open(swapped, passphrase)).rejects.toEqual(refusedAtAll)
    },
  )

  test('a sealed archive with an excessive key derivation or an invalid first line is refused before any work', async () => {
    const header = (n: number) =>
      Buffer.from(
        `${JSON.stringify({ format: 'flotilla-backup', version: 1, closed: { by: 'passphrase', cipher: 'aes-256-gcm', scrypt_n: n, salt: 'a'.repeat(64), nonce: 'b'.repeat(14) } })}\n`,
      )
    await expect(open(header(2 ** 30), 'x')).rejects.toEqual(unusable)
    await expect(open(Buffer.from('PK\u0003\u0004 a zip file'), 'x')).rejects.toEqual(unusable)
    await expect(open(Buffer.alloc(10_000, 'x'), 'x')).rejects.toEqual(unusable)
  })
})

const about: About = {
  product: '1.0.0',
  made_at: 1,
  home_id: 'h',
  runtime: 'process',
  secrets: true,
  schema: 1,
  agents: 1,
}
const file = (path: string, content = 'x', mode = 0o600): SourceEntry => ({
  entry: { kind: 'file', path, mode },
  content: pieces(Buffer.from(content)),
})
const frames = (...entries: readonly SourceEntry[]) =>
  whole(
    writeFrames(
      about,
      (async function* all() {
        yield* entries
      })(),
    ),
  )

async function read(archive: Buffer): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  const nameOf = (entry: Entry) =>
    entry.kind === 'file' ? entry.path : entry.kind === 'database' ? 'database' : `data of ${entry.agent}`
  await readFrames(pieces(archive), {
    about: () => {},
    entry: (entry) => {
      found[nameOf(entry)] = ''
      return { take: (piece) => void (found[nameOf(entry)] += piece.toString('latin1')), end: () => {} }
    },
  })
  return found
}

describe('the content of a backup', () => {
  test('the content of a backup is read as it was written', async () => {
    const content = 'y'.repeat(3_000_000)
    expect(await read(await frames(file('.env'), file('data/artifacts/61/big', content)))).toEqual({
      '.env': 'x',
      'data/artifacts/61/big': content,
    })
  })

  test('a backup is not created with more files than a restore accepts', async () => {
    const many = async function* files() {
      for (let count = 0; count <= 1000; count += 1) yield file(`config/${count}`, '')
    }
    await expect(Array.fromAsync(writeFrames(about, many(), 1000))).rejects.toMatchObject({
      code: 'unprocessable',
    })
    expect(await Array.fromAsync(writeFrames(about, many(), 1001))).not.toEqual([])
  })

  test('the content of a backup holds a file of any size', async () => {
    const piece = Buffer.alloc(1024 * 1024)
    const megabytes = 257
    const huge: SourceEntry = {
      entry: { kind: 'file', path: 'data/artifacts/61/huge', mode: 0o600 },
      content: (async function* zeros() {
        for (let count = 0; count < megabytes; count += 1) yield piece
      })(),
    }
    let bytes = 0
    const one = (async function* only() {
      yield huge
    })()
    await readFrames(writeFrames(about, one), {
      about: () => {},
      entry: () => ({ take: (part) => void (bytes += part.length), end: () => {} }),
    })
    expect(bytes).toBe(megabytes * piece.length)
  })

  test.each([
    '../outside',
    'config/../../outside',
    '/etc/passwd',
    'config//x',
    'config/./x',
    'config/a\\..\\b',
    'config/a\u0000b',
    'data/mesh.db',
    'data/home-id',
    'run/mesh.pid',
    'config',
    '',
    `config/${'a'.repeat(1100)}`,
    `config/${'a/'.repeat(20)}b`,
  ])('the content of a backup that names %j is refused', async (path) => {
    await expect(read(await frames(file(path)))).rejects.toEqual(unusable)
  })

  test('content with a duplicate path, a truncated end or trailing bytes is rejected', async () => {
    await expect(read(await frames(file('.env'), file('.env')))).rejects.toEqual(unusable)
    const good = await frames(file('.env'), file('config/x'))
    for (let length = 0; length < good.length; length += 7) {
      await expect(read(good.subarray(0, length)), String(length)).rejects.toEqual(unusable)
    }
    await expect(read(Buffer.concat([good, good]))).rejects.toEqual(unusable)
  })

  test('content of arbitrary bytes is rejected with a problem and has no other effect', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), async (bytes) => {
        await expect(read(Buffer.from(bytes))).rejects.toEqual(unusable)
      }),
    )
  })

  test('the content of a backup may have an odd but harmless name of a file', () => {
    expect(checkedPath('config/..hidden')).toBe('config/..hidden')
  })
})
