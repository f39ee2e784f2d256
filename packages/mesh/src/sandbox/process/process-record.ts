import { readFile, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'

/** What is kept of a sandbox that is a plain process, so that a later mesh finds it again. */
const recordSchema = z.strictObject({
  agentId: z.string(),
  pid: z.int().min(2),
  /** Start time of the process in the kernel's ticks: a process id alone may belong to another by now. */
  startTicks: z.string(),
  port: z.int(),
  labels: z.record(z.string(), z.string()),
  /** Code of an end that was asked for; else the file `exit` tells. */
  stoppedWith: z.int().nullable(),
})

export type ProcessRecord = z.infer<typeof recordSchema>

export async function readRecord(folder: string): Promise<ProcessRecord | null> {
  const text = await readFile(join(folder, 'sandbox.json'), 'utf8').catch(() => null)
  return text === null ? null : recordSchema.parse(JSON.parse(text))
}

export async function writeRecord(folder: string, record: ProcessRecord): Promise<void> {
  const path = join(folder, 'sandbox.json')
  await writeFile(`${path}.new`, JSON.stringify(record), { mode: 0o600 })
  await rename(`${path}.new`, path)
}

export async function readAllRecords(root: string): Promise<readonly ProcessRecord[]> {
  const folders = await readdir(root).catch(() => [])
  const records = await Promise.all(folders.map((folder) => readRecord(join(root, folder))))
  return records.filter((record) => record !== null)
}

/** Start time of a live process; null where it is gone or a zombie. */
export async function startTicksOf(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  // The name stands in brackets and may hold anything; the fields after the last bracket are numbers.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields === undefined || fields[0] === 'Z' ? null : (fields[19] ?? null)
}

/** Whether the very process of the record still runs. */
export async function isAlive(record: ProcessRecord): Promise<boolean> {
  return (await startTicksOf(record.pid)) === record.startTicks
}

/** What the process ended with; 137 where nothing could note it. */
export async function exitCodeOf(folder: string, record: ProcessRecord): Promise<number> {
  if (record.stoppedWith !== null) return record.stoppedWith
  const text = await readFile(join(folder, 'exit'), 'utf8').catch(() => '')
  return /^\d+$/.test(text.trim()) ? Number(text) : 137
}
