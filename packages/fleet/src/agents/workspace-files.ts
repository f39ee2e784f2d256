import { Problem } from '@flotilla/protocol/problem'
import { findWorkspaceFile } from '@flotilla/protocol/workspace-file'
import type { Caller, Guard } from '@flotilla/identity/access'
import { reachMaxMs } from '@flotilla/identity/kernel'
import type { AgentRegistry } from './administration/agent-registry.ts'
import type { FleetConnection } from './fleet.ts'

/** Reads and writes files below an agent's /data, for callers that may manage or view the fleet. */
export interface WorkspaceFiles {
  write(
    caller: Caller,
    file: { readonly agentId: string; readonly path: string; readonly content: Uint8Array },
  ): Promise<{ readonly path: string; readonly size: number }>
  /** Reads one of the agent's workspace texts. Problems `unknown-agent`, `not-found`. */
  read(caller: Caller, agentId: string, file: string): Promise<string>
}

export function createWorkspaceFiles(deps: {
  readonly guard: Guard
  readonly fleet: Pick<AgentRegistry, 'require'> & Pick<FleetConnection, 'reach'>
}): WorkspaceFiles {
  const { guard, fleet } = deps
  return {
    write: async (caller, { agentId, path, content }) => {
      guard(caller, { do: 'manage-agent', agentId })
      const signal = AbortSignal.timeout(reachMaxMs)
      const connection = await fleet.reach(agentId, signal)
      await connection.writeFile(path, content, signal)
      return { path, size: content.length }
    },
    read: async (caller, agentId, file) => {
      guard(caller, { do: 'view-fleet' })
      fleet.require(agentId)
      if (!findWorkspaceFile(file))
        throw new Problem('not-found', {
          detail: 'no workspace file has this name; flotilla edit --help lists them',
        })
      const signal = AbortSignal.timeout(reachMaxMs)
      return (await fleet.reach(agentId, signal)).readWorkspaceFile(file, signal)
    },
  }
}
