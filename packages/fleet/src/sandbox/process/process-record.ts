import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { namesIn, readTextFile } from '@flotilla/foundation/config'
import { readProc } from './read-proc.ts'

/** The record of a sandbox that is a plain process; with the record, a later mesh finds the process again. */
const recordSchema = z.strictObject({
  agentId: z.string(),
  pid: z.int().min(2),
  /** Start time of the process in kernel ticks: the process id alone may belong to another process by now. */
  startTicks: z.string(),
  /** Id of the machine's boot since which `startTicks` counts. */
  bootId: z.string().nullable().default(null),
  port: z.int(),
  labels: z.record(z.string(), z.string()),
  /** Exit code if the end was requested; after any other end, the file `exit` contains the code. */
  stoppedWith: z.int().nullable(),
})

export type ProcessRecord = z.infer<typeof recordSchema>

/** Stored as start time if the process ended in an earlier boot, or before its start time was read. */
export const startUnknown = 'gone'

/**
 * Reads the record; null if it is missing or invalid: a running process without a record is stopped. Rejects if the
 * record cannot be read now, as at the limit of open files.
 */
export async function readRecord(folder: string): Promise<ProcessRecord | null> {
  const text = await readTextFile(join(folder, 'sandbox.json'))
  const record = text === null ? null : parseRecord(text)
  if (record === null || record.bootId === null || record.bootId === (await bootId())) return record
  return { ...record, startTicks: startUnknown }
}

/** Writes the record and syncs it to the disk before it returns, so that the process is known after any crash. */
export async function writeRecord(folder: string, record: ProcessRecord): Promise<void> {
  const path = join(folder, 'sandbox.json')
  const file = await open(`${path}.new`, 'w', 0o600)
  try {
    await file.writeFile(JSON.stringify(record))
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
  const directory = await open(folder, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/** Records how the process ended. A failed write is ignored: a full disk must not keep the process running. */
export async function noteEnd(folder: string, record: ProcessRecord, stoppedWith: number): Promise<void> {
  await writeRecord(folder, { ...record, stoppedWith }).catch(() => undefined)
}

export async function readAllRecords(root: string): Promise<readonly ProcessRecord[]> {
  const folders = await namesIn(root)
  const records = await Promise.all(folders.map((folder) => readRecord(join(root, folder))))
  return records.filter((record) => record !== null)
}

/** Returns the agents with a data folder below `root`, by folder name, and whether each has a live process. */
export async function dataFolderAgents(
  root: string,
): Promise<readonly { readonly agentId: string; readonly path: string; readonly isAlive: boolean }[]> {
  const names = (await namesIn(root)).filter((name) => /^(?:[\da-f]{2})+$/.test(name))
  return Promise.all(
    names.map(async (name) => {
      const record = await readRecord(join(root, name))
      return {
        agentId: Buffer.from(name, 'hex').toString('utf8'),
        path: join(root, name),
        isAlive: record !== null && (await isAlive(record)),
      }
    }),
  )
}

/** Returns the id of the machine's current boot; null if the kernel does not report it. */
export async function bootId(): Promise<string | null> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => null))?.trim() ?? null
}

/** Returns the start time of a live process; null if it ended or is a zombie. Rejects on an error of the kernel. */
export async function startTicksOf(pid: number): Promise<string | null> {
  return (await readProcess(pid))?.startTicks ?? null
}

/** Reads a live process from the kernel; null if it ended or is a zombie. Rejects if the kernel gives an error. */
export async function readProcess(
  pid: number,
): Promise<{ readonly group: number; readonly startTicks: string } | null> {
  const stat = await readProc(`/proc/${pid}/stat`)
  // The process name is in brackets and may contain anything; after the last bracket are only simple fields.
  const [state, , group, ...more] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
  const startTicks = more[16]
  if (state === undefined || state === 'Z' || startTicks === undefined) return null
  return { group: Number(group), startTicks }
}

/** Returns whether the process of the record still runs, and not another one with its process id. */
export async function isAlive(record: ProcessRecord): Promise<boolean> {
  return (await startTicksOf(record.pid)) === record.startTicks
}

/** Returns the exit code of the process; 137 if none was recorded. */
export async function exitCodeOf(folder: string, record: ProcessRecord): Promise<number> {
  if (record.stoppedWith !== null) return record.stoppedWith
  const text = await readFile(join(folder, 'exit'), 'utf8').catch(() => '')
  return /^\d+$/.test(text.trim()) ? Number(text) : 137
}

function parseRecord(text: string): ProcessRecord | null {
  try {
    return recordSchema.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}
