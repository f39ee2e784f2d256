/** Agents as plain processes of this user. Loaded by meshes and commands that use them. */

export { dataFolderAgents } from './process-record.ts'
export { createProcessRuntime } from './process-runtime.ts'
