import { limits } from './limits.ts'

/** The nine files of an agent's workspace. `readOnly` ones are written by the mesh alone (ARCHITECTURE 6.18). */
export interface WorkspaceFile {
  readonly name: string
  readonly maxChars: number | null
  readonly readOnly: boolean
  /** Position in the system prompt; null means that it is not part of it. */
  readonly bootstrapOrder: number | null
}

const caps = limits.workspaceFileMaxChars

export const workspaceFiles = [
  { name: 'PROJECT.md', maxChars: null, readOnly: true, bootstrapOrder: 1 },
  { name: 'SYSTEM.md', maxChars: caps['SYSTEM.md'], readOnly: true, bootstrapOrder: 2 },
  { name: 'INSTRUCTIONS.md', maxChars: caps['INSTRUCTIONS.md'], readOnly: false, bootstrapOrder: 3 },
  { name: 'SOUL.md', maxChars: caps['SOUL.md'], readOnly: false, bootstrapOrder: 4 },
  { name: 'USER.md', maxChars: caps['USER.md'], readOnly: false, bootstrapOrder: 5 },
  { name: 'MEMORY.md', maxChars: caps['MEMORY.md'], readOnly: false, bootstrapOrder: 6 },
  { name: 'HEARTBEAT.md', maxChars: null, readOnly: false, bootstrapOrder: null },
  { name: 'INTERFACE.md', maxChars: caps['INTERFACE.md'], readOnly: false, bootstrapOrder: null },
  { name: 'AGENTS.md', maxChars: caps['AGENTS.md'], readOnly: false, bootstrapOrder: null },
] as const satisfies readonly WorkspaceFile[]

/** Those that the mesh does not write itself. */
export const editableFiles = workspaceFiles.filter((file) => !file.readOnly).map((file) => file.name)

export type WorkspaceFileName = (typeof workspaceFiles)[number]['name']

export function findWorkspaceFile(name: string): WorkspaceFile | undefined {
  return workspaceFiles.find((file) => file.name === name)
}
