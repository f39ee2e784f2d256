/** What the header of an archive says about one file, folder or link. */
export interface TarFacts {
  /** Path without `./` at its beginning and `/` at its end. */
  readonly path: string
  /** Type of the format: `0` a file, `1` a hard link, `2` a symbolic link, `5` a folder. */
  readonly type: string
  /** Mode bits, with those for set-user-id and set-group-id. */
  readonly mode: number
  readonly uid: number
  readonly size: number
  /** Target of a link; empty otherwise. */
  readonly target: string
  /** Returns the content. Rejects with `RangeError` if it is larger. Content that is not asked for is skipped. */
  content(maxBytes: number): Promise<Buffer>
}

/** An entry that can be copied into another archive. */
export interface TarPiece extends TarFacts {
  /** The header of the entry with its extended headers, byte for byte. */
  readonly head: Buffer
  /** Yields the content with its padding, if `content` was not asked for. */
  body(): AsyncGenerator<Buffer>
}

const blockBytes = 512
/** The maximum size of all extended headers before one entry, in bytes. */
const extendedMaxBytes = 1024 * 1024

/**
 * Yields the entries of an uncompressed POSIX, pax or GNU archive. Throws `RangeError` if the archive is damaged or ends
 * early.
 */
export function readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<TarFacts> {
  return readTarPieces(source)
}

/** Returns the content of the first entry; null for an archive without entries. Rejects with `RangeError` as `readTar` does. */
export async function firstFile(source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer | null> {
  for await (const entry of readTar(source)) {
    // Awaited here: the end of the loop closes the source, from which the content is still being read.
    return await entry.content(maxBytes)
  }
  return null
}

/** Yields the entries as `readTar` does, with their bytes. */
export async function* readTarPieces(source: AsyncIterable<Uint8Array>): AsyncGenerator<TarPiece> {
  const bytes = pieces(source)
  try {
    yield* entriesOf(bytes)
  } finally {
    await bytes.close()
  }
}

async function* entriesOf(bytes: ReturnType<typeof pieces>): AsyncGenerator<TarPiece> {
  let extended: ReadonlyMap<string, string> = new Map()
  let heads: Buffer[] = []
  let extendedBytes = 0
  for (;;) {
    const header = await bytes.take(blockBytes)
    if (header === null || header.every((byte) => byte === 0)) return
    const type = String.fromCharCode(header[156] ?? 0)
    // Links, devices, folders and pipes have no content, whatever their size field says.
    const size = '123456'.includes(type) ? 0 : sizeOf(extended, header)
    const rest = (blockBytes - (size % blockBytes)) % blockBytes
    if (type === 'x' || type === 'g' || type === 'L' || type === 'K') {
      // The header itself counts, so that headers without content have an end as well.
      extendedBytes += blockBytes + size + rest
      if (extendedBytes > extendedMaxBytes)
        throw new RangeError(
          `a file of the archive has extended headers of more than ${extendedMaxBytes} bytes`,
        )
      const content = await bytes.need(size)
      await bytes.skip(rest)
      if (type === 'g') continue
      extended = new Map([...extended, ...extendedOf(type, content)])
      heads.push(header, content, Buffer.alloc(rest))
      continue
    }
    let left = size + rest
    const path = cleanPath(extended.get('path') ?? nameOf(header))
    yield {
      head: Buffer.concat([...heads, header]),
      body: async function* () {
        while (left > 0) {
          const piece = await bytes.some(left)
          left -= piece.length
          yield piece
        }
      },
      path,
      type: type === '\0' ? '0' : type,
      mode: octal(header, 100, 8),
      uid: octal(header, 108, 8),
      size,
      target: extended.get('linkpath') ?? textOf(header, 157, 100),
      content: async (maxBytes) => {
        if (size > maxBytes) throw new RangeError(`the file /${path} is larger than ${maxBytes} bytes`)
        const content = await bytes.need(size)
        left -= size
        return content
      },
    }
    await bytes.skip(left)
    extended = new Map()
    heads = []
    extendedBytes = 0
  }
}

function sizeOf(extended: ReadonlyMap<string, string>, header: Buffer): number {
  const size = extended.has('size') ? Number(extended.get('size')) : octal(header, 124, 12)
  if (Number.isSafeInteger(size) && size >= 0) return size
  throw new RangeError('an entry of the archive has no valid size')
}

/** Reads what an extended header says about the next entry. */
function extendedOf(type: string, content: Buffer): ReadonlyMap<string, string> {
  if (type === 'L') return new Map([['path', textOf(content, 0, content.length)]])
  if (type === 'K') return new Map([['linkpath', textOf(content, 0, content.length)]])
  const found = new Map<string, string>()
  for (let at = 0; at < content.length;) {
    const space = content.indexOf(0x20, at)
    const length = Number(content.toString('latin1', at, space))
    if (space < 0 || !Number.isInteger(length) || length <= space - at || at + length > content.length)
      throw new RangeError('an extended header of the archive is damaged')
    const line = content.toString('utf8', space + 1, at + length - 1)
    const equals = line.indexOf('=')
    found.set(line.slice(0, equals), line.slice(equals + 1))
    at += length
  }
  return found
}

/** Collects pieces of any size; returned buffers have exactly the size that was asked for. */
function pieces(source: AsyncIterable<Uint8Array>) {
  const iterator = source[Symbol.asyncIterator]()
  let held: Buffer = Buffer.alloc(0)
  /** Returns the next bytes; null at the end of the source. */
  async function take(count: number): Promise<Buffer | null> {
    const parts = [held]
    let have = held.length
    while (have < count) {
      const next = await iterator.next()
      if (next.done === true) {
        if (have === 0) return null
        throw new RangeError('the archive ends early')
      }
      parts.push(Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength))
      have += next.value.byteLength
    }
    const all = parts.length === 1 ? held : Buffer.concat(parts)
    held = all.subarray(count)
    return all.subarray(0, count)
  }
  async function need(count: number): Promise<Buffer> {
    if (count === 0) return Buffer.alloc(0)
    const found = await take(count)
    if (found === null) throw new RangeError('the archive ends early')
    return found
  }
  /** Returns at least one of the next bytes, and at most `most`. */
  async function some(most: number): Promise<Buffer> {
    if (held.length === 0) held = await nextPiece()
    const piece = held.subarray(0, most)
    held = held.subarray(piece.length)
    return piece
  }
  async function skip(count: number): Promise<void> {
    let left = count
    while (left > held.length) {
      left -= held.length
      held = Buffer.alloc(0)
      held = await nextPiece()
    }
    held = held.subarray(left)
  }
  async function nextPiece(): Promise<Buffer> {
    const next = await iterator.next()
    if (next.done === true) throw new RangeError('the archive ends early')
    return Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength)
  }
  return { take, need, some, skip, close: async () => void (await iterator.return?.()) }
}

function nameOf(header: Buffer): string {
  const isPosix = header.toString('latin1', 257, 262) === 'ustar' && header[262] === 0
  const prefix = isPosix ? textOf(header, 345, 155) : ''
  const name = textOf(header, 0, 100)
  return prefix === '' ? name : `${prefix}/${name}`
}

function cleanPath(path: string): string {
  return path.replace(/^(?:\.?\/)+/, '').replace(/\/+$/, '')
}

function textOf(bytes: Buffer, at: number, length: number): string {
  const field = bytes.subarray(at, at + length)
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end < 0 ? field.length : end)
}

/** Reads a number; large ones are stored as binary with the highest bit set. */
function octal(bytes: Buffer, at: number, length: number): number {
  if (((bytes[at] ?? 0) & 0x80) === 0) return Number.parseInt(textOf(bytes, at, length).trim() || '0', 8)
  let value = (bytes[at] ?? 0) & 0x7f
  for (const byte of bytes.subarray(at + 1, at + length)) value = value * 256 + byte
  return value
}
