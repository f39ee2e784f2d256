import { readFile } from 'node:fs/promises'
import * as z from 'zod/mini'
import { parseJsonLine } from './mesh-lines.ts'
import { meshFilePath } from './mesh-paths.ts'

const meshFileSchema = z.looseObject({
  pid: z.int().check(z.positive()),
  /** The start time of the process, in ticks of the system; absent in a file of an older mesh. */
  process_started: z.optional(z.nullable(z.int())),
  port: z.int(),
  url: z.string(),
  started_at: z.union([z.number(), z.string()]),
  version: z.string(),
  /** What its agents run as; absent in a note of an older mesh. */
  runtime: z.optional(z.string()),
})

/** What a running mesh writes about itself into its home. */
export type MeshFile = z.infer<typeof meshFileSchema>

/** The mesh file of a home, and whether its process is still alive; null without a readable file. */
export async function readMeshFile(home: string): Promise<{ mesh: MeshFile; alive: boolean } | null> {
  const text = await readFile(meshFilePath(home), 'utf8').catch(() => '')
  const parsed = meshFileSchema.safeParse(parseJsonLine(text))
  return parsed.success ? { mesh: parsed.data, alive: await isAuthor(parsed.data) } : null
}

/** Compares start times, because process ids are reused: the process may be the mesh of another home. */
async function isAuthor({ pid, process_started: born }: MeshFile): Promise<boolean> {
  if (!(await isMeshProcess(pid))) return false
  if (born === undefined || born === null) return true
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[19]) === born
}

/** True if the process runs and, where the system shows it, is a mesh; process ids are reused. */
export async function isMeshProcess(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (Reflect.get(Object(error), 'code') !== 'EPERM') return false
  }
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => null)
  if (commandLine === null) return process.platform !== 'linux'
  return commandLine.includes('main.') && commandLine.split('\0').includes('serve')
}
