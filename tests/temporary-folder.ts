import { mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import type { TestProject } from 'vitest/node'

const memoryFolder = '/dev/shm'
/** Several times what the homes of all tests that are there at once take. */
const roomMinBytes = 2 * 1024 ** 3

/**
 * Everything that a test run leaves in the system's temporary folder goes with one folder at its end. That lies in memory
 * where there is enough of it: each commit of each mesh waits for its disk, and those of all tests wait for each other.
 * Containers' data stays on a disk, since what they write into memory would count as their own.
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
