import { readFile } from 'node:fs/promises'
import * as z from 'zod/mini'
import { parseJsonLine } from './mesh-lines.ts'
import { meshFilePath } from './mesh-paths.ts'

const meshFileSchema = z.looseObject({
  pid: z.int().check(z.positive()),
  /** The start time of the process in clock ticks since boot; older meshes do not write this field. */
  process_started: z.optional(z.nullable(z.int())),
  port: z.int(),
  url: z.string(),
  started_at: z.union([z.number(), z.string()]),
  version: z.string(),
  /** The runtime of the mesh's agents; older meshes do not write this field. */
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

/** True if the process wrote the file. Compares start times, because process ids are reused by other meshes. */
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
