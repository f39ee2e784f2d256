import { readFile, readdir } from 'node:fs/promises'
import { readProcess } from './process-record.ts'

/** The variable that tells an agent's process, and nothing that it runs, where its data is. */
export const dataVariable = 'FLOTILLA_DATA'

/** A live process that works on an agent's data folder. */
export interface Worker {
  readonly pid: number
  readonly group: number
  readonly data: string
}

/**
 * Every live process of this user that was started to work on one of the folders, whether a record tells of it or not:
 * the kernel keeps the environment that a process was started with. Looks at all processes of the machine.
 */
export async function findWorkers(isFolder: (data: string) => boolean): Promise<readonly Worker[]> {
  const names = await readdir('/proc').catch(() => [])
  const found: Worker[] = []
  for (const name of names) {
    if (!/^\d+$/.test(name)) continue
    // What belongs to others cannot be read, and is none of ours.
    const text = await readFile(`/proc/${name}/environ`, 'utf8').catch(() => '')
    const data = dataIn(text)
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
