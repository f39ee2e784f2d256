import { readdir } from 'node:fs/promises'
import { readProcess } from './process-record.ts'
import { readProc } from './read-proc.ts'

/** Name of the environment variable with the data folder; only an agent's own process has it, not its programs. */
export const dataVariable = 'FLOTILLA_DATA'

/** A live process that works on an agent's data folder. */
export interface Worker {
  readonly pid: number
  readonly group: number
  readonly data: string
}

/**
 * Finds every live process of this user that was started for one of the folders, with or without a record: the kernel
 * keeps the environment with which a process started. Scans all processes; rejects if that fails.
 */
export async function findWorkers(isFolder: (data: string) => boolean): Promise<readonly Worker[]> {
  const names = await readdir('/proc')
  const found: Worker[] = []
  for (const name of names) {
    if (!/^\d+$/.test(name)) continue
    // Processes of other users cannot be read and are skipped.
    const text = await readProc(`/proc/${name}/environ`)
    const data = dataIn(text ?? '')
    if (data === null || !isFolder(data)) continue
    const process = await readProcess(Number(name))
    if (process) found.push({ pid: Number(name), group: process.group, data })
  }
  return found
}

function dataIn(environment: string): string | null {
  const start = `${dataVariable}=`
  const entry = environment.split('\0').find((variable) => variable.startsWith(start))
  return entry === undefined ? null : entry.slice(start.length)
}
