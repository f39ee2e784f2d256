import { limits } from './limits.ts'

/** The nine files of an agent's workspace. `readOnly` ones are written by the mesh alone. */
export interface WorkspaceFile {
  readonly name: string
  readonly maxChars: number | null
  readonly readOnly: boolean
  /** Position in the system prompt; null if the prompt does not include the file. */
  readonly bootstrapOrder: number | null
  /**
   * True if the agent itself may change the file, with `update_workspace`; the others change only through the API.
   */
  readonly agentMayWrite: boolean
  /** The path below the data directory. The mesh's own files are among the bootstrap files instead. */
  readonly path: string
}

/** AGENTS.md is at the root of `/data`, because coding tools look for it there. */
const rootFile = 'AGENTS.md'

const caps = limits.workspaceFileMaxChars

export const workspaceFiles = [
  {
    name: 'PROJECT.md',
    maxChars: null,
    readOnly: true,
    bootstrapOrder: 1,
    agentMayWrite: false,
    path: 'workspace/PROJECT.md',
  },
  {
    name: 'SYSTEM.md',
    maxChars: caps['SYSTEM.md'],
    readOnly: true,
    bootstrapOrder: 2,
    agentMayWrite: false,
    path: 'workspace/SYSTEM.md',
  },
  {
    name: 'INSTRUCTIONS.md',
    maxChars: caps['INSTRUCTIONS.md'],
    readOnly: false,
    bootstrapOrder: 3,
    agentMayWrite: true,
    path: 'workspace/INSTRUCTIONS.md',
  },
  {
    name: 'SOUL.md',
    maxChars: caps['SOUL.md'],
    readOnly: false,
    bootstrapOrder: 4,
    agentMayWrite: true,
    path: 'workspace/SOUL.md',
  },
  {
    name: 'USER.md',
    maxChars: caps['USER.md'],
    readOnly: false,
    bootstrapOrder: 5,
    agentMayWrite: true,
    path: 'workspace/USER.md',
  },
  {
    name: 'MEMORY.md',
    maxChars: caps['MEMORY.md'],
    readOnly: false,
    bootstrapOrder: 6,
    agentMayWrite: true,
    path: 'workspace/MEMORY.md',
  },
  {
    name: 'HEARTBEAT.md',
    maxChars: null,
    readOnly: false,
    bootstrapOrder: null,
    agentMayWrite: true,
    path: 'workspace/HEARTBEAT.md',
  },
  {
    name: 'INTERFACE.md',
    maxChars: caps['INTERFACE.md'],
    readOnly: false,
    bootstrapOrder: 8,
    agentMayWrite: false,
    path: 'workspace/INTERFACE.md',
  },
  {
    name: 'AGENTS.md',
    maxChars: caps['AGENTS.md'],
    readOnly: false,
    bootstrapOrder: 7,
    agentMayWrite: false,
    path: rootFile,
  },
] as const satisfies readonly WorkspaceFile[]

/** The files that the mesh does not write itself. */
export const editableFiles = workspaceFiles.filter((file) => !file.readOnly).map((file) => file.name)

export type WorkspaceFileName = (typeof workspaceFiles)[number]['name']

export function findWorkspaceFile(name: string): WorkspaceFile | undefined {
  return workspaceFiles.find((file) => file.name === name)
}
