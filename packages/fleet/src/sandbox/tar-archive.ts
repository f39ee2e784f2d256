import { Buffer } from 'node:buffer'

/** One entry of an archive. A directory's name ends with `/` and its content is empty. */
export interface TarEntry {
  /** Relative path, at most 100 bytes in UTF-8 (155 more if the name can be split at a `/`). */
  readonly name: string
  readonly mode: number
  /** User id and group id of the entry. */
  readonly uid: number
  readonly size: number
  readonly content: AsyncIterable<Uint8Array> | Uint8Array
}

const blockBytes = 512

/**
 * Yields the entries as a POSIX archive, piece by piece and uncompressed: over a local socket, compression would cost
 * more than it saves. Times are 0, so equal content gives equal bytes. Throws `RangeError` for a name that does not
 * fit.
 */
export async function* tarArchive(entries: Iterable<TarEntry>): AsyncGenerator<Uint8Array> {
  for (const entry of entries) {
    yield tarHeader(entry)
    if (entry.content instanceof Uint8Array) yield entry.content
    else yield* entry.content
    const rest = entry.size % blockBytes
    if (rest !== 0) yield Buffer.alloc(blockBytes - rest)
  }
  yield Buffer.alloc(2 * blockBytes)
}

/** Returns an entry for a regular file from bytes in memory. */
export function tarFile(
  name: string,
  content: Uint8Array,
  owner: { readonly uid: number; readonly mode: number },
): TarEntry {
  return { name, content, size: content.length, ...owner }
}

export function tarDirectory(name: string, owner: { readonly uid: number; readonly mode: number }): TarEntry {
  return { name: `${name}/`, content: new Uint8Array(), size: 0, ...owner }
}

function tarHeader(entry: TarEntry): Buffer {
  const header = Buffer.alloc(blockBytes)
  const { name, prefix } = splitName(entry.name)
  header.write(name, 0, 'utf8')
  octal(header, { value: entry.mode, at: 100, digits: 7 })
  octal(header, { value: entry.uid, at: 108, digits: 7 })
  octal(header, { value: entry.uid, at: 116, digits: 7 })
  octal(header, { value: entry.size, at: 124, digits: 11 })
  octal(header, { value: 0, at: 136, digits: 11 })
  header.write(entry.name.endsWith('/') ? '5' : '0', 156)
  header.write('ustar\u000000', 257)
  header.write(prefix, 345, 'utf8')
  writeChecksum(header)
  return header
}

/** Writes the checksum of a header, which counts its own field as spaces. */
function writeChecksum(header: Buffer): void {
  header.write(' '.repeat(8), 148)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\u0000 `, 148)
}

/** The prefix under which pax headers store security attributes of files, such as capabilities. */
const securityAttribute = Buffer.from('SCHILY.xattr.security.')
/** A prefix of the same length, which no program reads. */
const ignoredAttribute = Buffer.from('FLOTILLA.removed.attr.')
const setIdBits = 0o6000

/**
 * Returns a header without the bits by which a file runs as another user, and without the capabilities of a file. `head`
 * has the extended headers first. Pure.
 */
export function withoutRights(head: Buffer, mode: number): Buffer {
  const made = Buffer.from(head)
  for (let at = made.indexOf(securityAttribute); at >= 0; at = made.indexOf(securityAttribute, at))
    ignoredAttribute.copy(made, at)
  const header = made.subarray(-blockBytes)
  octal(header, { value: mode & 0o7777 & ~setIdBits, at: 100, digits: 7 })
  writeChecksum(header)
  return made
}

function splitName(full: string): { readonly name: string; readonly prefix: string } {
  if (Buffer.byteLength(full) <= 100) return { name: full, prefix: '' }
  for (let at = full.indexOf('/'); at > 0 && at < full.length - 1; at = full.indexOf('/', at + 1)) {
    const prefix = full.slice(0, at)
    const name = full.slice(at + 1)
    if (Buffer.byteLength(prefix) <= 155 && Buffer.byteLength(name) <= 100) return { name, prefix }
  }
  throw new RangeError(`the path does not fit into an archive: ${full.slice(0, 300)}`)
}

function octal(
  header: Buffer,
  field: { readonly value: number; readonly at: number; readonly digits: number },
): void {
  header.write(field.value.toString(8).padStart(field.digits, '0'), field.at)
}
