import type { AgentEdit } from '@flotilla/protocol/agent-edit'
import type { editableFiles } from '@flotilla/protocol/workspace-file'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { findWorkspaceFile } from '@flotilla/protocol/workspace-file'
import type { AgentAdmin, AgentConnection, AgentRegistry } from '@flotilla/fleet/agents'
import { reachMaxMs } from '@flotilla/identity/kernel'
import type { Editable } from './editable.ts'
import { undoConflict } from './undo-conflict.ts'

type FileEdit = Extract<AgentEdit, { field: (typeof editableFiles)[number] }>

/** Connects to an agent to read and write its text files; starts the agent's sandbox if necessary. */
export type ReachTexts = (
  agentId: string,
  signal: AbortSignal,
) => Promise<Pick<AgentConnection, 'readWorkspaceFile' | 'writeWorkspaceFile'>>

/** Agents whose texts are edited. The last given version is kept beside them, for exports of the fleet. */
export type EditedAgents = Pick<AgentAdmin, 'change'> &
  Pick<AgentRegistry, 'seedFiles'> & { readonly reach: ReachTexts }

/**
 * Edits a text in the agent's workspace. It is in the agent's own volume, so its content is untrusted: it can be
 * restored, but no decision depends on it.
 */
export function editFile(fleet: EditedAgents, name: FileEdit['field']): Editable<FileEdit> {
  /** Stores the text as the last one given to the agent, in the transaction that marks the edit as made. */
  function noteGiven(agentId: string, text: string): void {
    // Memory belongs to the agent, even after a correction, and is not exported.
    if (name === 'MEMORY.md') return
    fleet.seedFiles.given(agentId, name, text)
    if (name === 'INSTRUCTIONS.md') fleet.change(agentId, { instructions: text })
  }

  async function opened(agentId: string) {
    const signal = AbortSignal.timeout(reachMaxMs)
    const connection = await fleet.reach(agentId, signal)
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
      return () => {
        noteGiven(agentId, text)
        return 'now'
      }
    },
    putBack: async (_caller, { agentId, before, after, isResumed }) => {
      const file = await opened(agentId)
      const now = await file.read()
      const text = typeof before === 'string' ? before : ''
      if (!isResumed || now !== before) {
        if (now !== after) throw undoConflict(now, after)
        await file.write(text)
      }
      return () => {
        noteGiven(agentId, text)
        return 'now'
      }
    },
  }
}
