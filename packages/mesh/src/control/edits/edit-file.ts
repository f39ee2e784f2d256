import type { AgentEdit } from '@flotilla/protocol/agent-edit'
import type { editableFiles } from '@flotilla/protocol/workspace-file'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { findWorkspaceFile } from '@flotilla/protocol/workspace-file'
import type { AgentConnection } from '../../agents/index.ts'
import type { Editable } from './editable.ts'
import { overtaken } from './overtaken.ts'

type FileEdit = Extract<AgentEdit, { field: (typeof editableFiles)[number] }>

/** A container may have to be started for it. */
const reachMaxMs = 120_000

/** The way to an agent's texts; its sandbox is started for it where it does not run. */
export type ReachTexts = (
  agentId: string,
  signal: AbortSignal,
) => Promise<Pick<AgentConnection, 'readWorkspaceFile' | 'writeWorkspaceFile'>>

/**
 * A text of the agent's workspace. It lies in the agent's own volume, so what comes back of it is the agent's word:
 * good enough to put back, and nothing is decided by it.
 */
export function editFile(reach: ReachTexts, name: FileEdit['field']): Editable<FileEdit> {
  async function opened(agentId: string) {
    const signal = AbortSignal.timeout(reachMaxMs)
    const connection = await reach(agentId, signal)
    return {
      read: () => connection.readWorkspaceFile(name, signal),
      write: (content: string) => connection.writeWorkspaceFile(name, content, signal),
    }
  }

  return {
    apply: async (_caller, { agentId, edit, begin }) => {
      const text = sanitizeForPrompt(edit.value)
      const maxChars = findWorkspaceFile(name)?.maxChars ?? null
      if (maxChars !== null && text.length > maxChars) {
        throw new Problem('body-too-large', { detail: `${name} has at most ${maxChars} characters` })
      }
      const file = await opened(agentId)
      begin({ before: await file.read(), after: text })
      await file.write(text)
      return () => 'now'
    },
    putBack: async (_caller, { agentId, before, after, isResumed }) => {
      const file = await opened(agentId)
      const now = await file.read()
      if (isResumed && now === before) return () => 'now'
      if (now !== after) throw overtaken(now, after)
      await file.write(typeof before === 'string' ? before : '')
      return () => 'now'
    },
  }
}
