import { mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import type { TestProject } from 'vitest/node'

const memoryFolder = '/dev/shm'
/** Several times what the homes of all tests that are there at once take. */
const roomMinBytes = 2 * 1024 ** 3

/**
 * Puts everything that a test run leaves in the system's temporary folder into one folder, which is deleted at the
 * end. The folder is in memory if enough is free, since each commit of each mesh waits for the disk, and tests
 * would wait for each other. Data of containers stay on a disk, since files in memory would count as the
 * containers' own memory.
 */
export function setup({ name }: TestProject): () => void {
  const inMemory = !name.startsWith('docker') && hasRoomInMemory()
  const folder = mkdtempSync(join(inMemory ? memoryFolder : tmpdir(), 'flt-'))
  process.env['TMPDIR'] = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}

function hasRoomInMemory(): boolean {
  try {
    const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n')
    const [, , kind, options = ''] =
      mounts.map((line) => line.split(' ')).findLast((fields) => fields[1] === memoryFolder) ?? []
    if (kind !== 'tmpfs' || options.split(',').some((option) => option === 'noexec' || option === 'ro'))
      return false
    const { bavail, bsize } = statfsSync(memoryFolder)
    const kibibytes = Number(/^MemAvailable:\s*(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1])
    return bavail * bsize >= roomMinBytes && kibibytes * 1024 >= 2 * roomMinBytes
  } catch {
    return false
  }
}
