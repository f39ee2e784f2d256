import { open, readFile } from 'node:fs/promises'

const memoryMaxBytes = 512 * 1024 * 1024
const emptyPage = Buffer.alloc(4096)

/** Reads the writable memory of a process on this machine, as far as the owner or root may. */
export async function memoryOf(pid: string): Promise<Buffer> {
  const maps = await readFile(`/proc/${pid}/maps`, 'utf8')
  const memory = await open(`/proc/${pid}/mem`)
  const pieces: Buffer[] = []
  let bytes = 0
  try {
    for (const line of maps.split('\n')) {
      const [, from = '', to = ''] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? []
      const [start, size] = [Number.parseInt(from, 16), Number.parseInt(to, 16) - Number.parseInt(from, 16)]
      if (from === '' || bytes + size > memoryMaxBytes) continue
      const piece = Buffer.alloc(size)
      const read = await memory.read(piece, 0, size, start).catch(() => null)
      if (read) pieces.push(...writtenPages(piece.subarray(0, read.bytesRead)))
      bytes += size
    }
  } finally {
    await memory.close()
  }
  return Buffer.concat(pieces)
}

/** Returns the pages that are not empty: most writable pages were never written and cannot contain a canary. */
function writtenPages(memory: Buffer): Buffer[] {
  const pages: Buffer[] = []
  for (let from = 0; from < memory.length; from += emptyPage.length) {
    const page = memory.subarray(from, from + emptyPage.length)
    if (!page.equals(emptyPage)) pages.push(page)
  }
  return pages
}
