/** One file of an archive. */
export interface TarEntry {
  /** Relative path with slashes; at most 100 bytes, or 155 more before a slash. */
  readonly path: string
  readonly bytes: Uint8Array
}

const blockBytes = 512

/** A POSIX ustar archive of plain files, readable by all, dated 1970. Throws on a path that does not fit. Pure. */
export function tarFile(entries: readonly TarEntry[]): Uint8Array<ArrayBuffer> {
  const blocks: Uint8Array[] = []
  for (const entry of entries) {
    blocks.push(tarHeader(entry), entry.bytes, new Uint8Array(-entry.bytes.length & (blockBytes - 1)))
  }
  // Two empty blocks mark the end of an archive.
  blocks.push(new Uint8Array(2 * blockBytes))
  return new Uint8Array(Buffer.concat(blocks))
}

function tarHeader({ path, bytes }: TarEntry): Uint8Array {
  const header = new Uint8Array(blockBytes)
  const write = (text: string, at: number) => header.set(new TextEncoder().encode(text), at)
  const { prefix, name } = splitPath(path)
  write(name, 0)
  write('0000644\0', 100)
  write('0000000\0', 108)
  write('0000000\0', 116)
  write(`${bytes.length.toString(8).padStart(11, '0')}\0`, 124)
  write('00000000000\0', 136)
  write('        ', 148)
  write('0', 156)
  write('ustar\u000000', 257)
  write(prefix, 345)
  const sum = header.reduce((total, byte) => total + byte, 0)
  write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

function splitPath(path: string): { prefix: string; name: string } {
  if (Buffer.byteLength(path) <= 100) return { prefix: '', name: path }
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
    const prefix = path.slice(0, at)
    const name = path.slice(at + 1)
    if (Buffer.byteLength(prefix) <= 155 && Buffer.byteLength(name) <= 100) return { prefix, name }
  }
  throw new Error(`the path ${path} does not fit into a tar header`)
}
