import { readFileSync } from 'node:fs'

const places = ['/sys/fs/cgroup/memory.current', '/sys/fs/cgroup/memory/memory.usage_in_bytes']

/** The memory use of the whole container in bytes; 0 if the kernel does not report it. */
export function memoryUse(): number {
  for (const place of places) {
    try {
      return Number(readFileSync(place, 'utf8'))
    } catch {
      // The file is missing: it belongs to the version of control groups that this kernel does not use.
    }
  }
  return 0
}
