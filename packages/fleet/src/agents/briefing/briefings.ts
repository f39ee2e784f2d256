import { chmod, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isLive } from '@flotilla/protocol/agent-lifecycle'
import { doorTokenFile, linkKeyFile, onceFiles } from '@flotilla/protocol/agent-link'
import type { AgentLinkKey } from '@flotilla/protocol/agent-link'
import type { Clock } from '@flotilla/protocol/clock'
import { mcpBriefs } from '@flotilla/protocol/mcp-servers'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { createInTurn } from '@flotilla/protocol/turns'
import { readTextFile, writeFileAtomically } from '@flotilla/foundation/config'
import type { WorkFeedback } from '../../events/index.ts'
import { removeTree } from '@flotilla/foundation/platform'
import type { Log } from '@flotilla/foundation/platform'
import type { Action, Caller, Decision } from '@flotilla/identity/access'
import type { AgentTable } from '../registry/agent-table.ts'
import type { McpServerTable } from '../registry/mcp-server-table.ts'
import { systemBrief } from './system-brief.ts'
import type { Colleague } from './system-brief.ts'

/** How often SYSTEM.md of running agents is rewritten, milliseconds. */
const refreshIntervalMs = 5 * 60 * 1000

/** Bootstrap files about the agent and the fleet: one directory per agent, read-only in its container. */
export interface Briefings {
  directoryOf(agentId: string): string
  /** Writes PROJECT.md, SYSTEM.md, feedback.json and mcp.json, except for files whose content is unchanged. */
  write(agentId: string): Promise<void>
  /** Writes the files of all agents with a live sandbox. Never rejects; failures are logged. */
  refresh(): Promise<void>
  remove(agentId: string): Promise<void>
  /**
   * Places one-time secrets where the agent reads them at its start. Call `takeOnce` whether the start
   * succeeds or not.
   */
  layOnce(
    agentId: string,
    given: { readonly doorToken: string; readonly link: AgentLinkKey | null },
  ): Promise<void>
  /** Removes the one-time secrets again. Idempotent. */
  takeOnce(agentId: string): Promise<void>
  /** Refreshes every 5 minutes until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
}

export interface BriefingDeps {
  readonly agents: AgentTable
  readonly mcpServers: Pick<McpServerTable, 'of'>
  readonly briefsFolder: string
  /** Returns the contents of PROJECT.md: the text of the agent's project; empty if the agent has no project. */
  readonly projectText: (agentId: string) => string
  /** Returns feedback on the agent's work, oldest first; the agent adds the feedback to its learnings. */
  readonly feedbackFor: (agentId: string) => readonly WorkFeedback[]
  /** Returns further files that the agent's programs read, by name. */
  readonly programFiles: (agentId: string) => Readonly<Record<string, string>>
  readonly permissionsOf: (agentId: string) => PermissionRecord | null
  readonly decide: (caller: Caller, action: Action) => Decision
  readonly clock: Clock
  readonly log: Log
}

export function createBriefings(deps: BriefingDeps): Briefings {
  const { agents } = deps

  function directoryOf(agentId: string): string {
    return join(deps.briefsFolder, briefingFolderName(agentId))
  }

  // Every user in the container may read the file; on the host, the mode of the home folder excludes other users.
  const lay = (agentId: string, name: string, text: string): Promise<void> =>
    writeFileAtomically(join(directoryOf(agentId), name), text, 0o644)

  /** Runs refreshes one after another; otherwise a refresh that read an older state could write last. */
  const inTurn = createInTurn()
  let waiting: Promise<void> | null = null

  async function write(agentId: string): Promise<void> {
    const { record } = agents.require(agentId)
    const directory = directoryOf(agentId)
    await mkdir(directory, { recursive: true })
    // UID 1000 in the container reads the folder, and the umask of the mesh may have removed permission bits.
    await chmod(directory, 0o755)
    const colleagues = colleaguesOf(deps, agentId)
    const permissions = deps.permissionsOf(agentId)
    await replaceText(join(directory, 'SYSTEM.md'), systemBrief({ agent: record, colleagues, permissions }))
    await replaceText(join(directory, 'PROJECT.md'), deps.projectText(agentId))
    await replaceText(join(directory, 'feedback.json'), JSON.stringify(deps.feedbackFor(agentId)))
    await replaceServers(join(directory, 'mcp.json'), mcpBriefs(deps.mcpServers.of(agentId)))
    for (const [name, text] of Object.entries(deps.programFiles(agentId)))
      await replaceText(join(directory, name), text)
  }

  /** A caller that arrives while a refresh is queued shares the queued refresh, which reads the state later. */
  function refresh(): Promise<void> {
    waiting ??= inTurn(refreshAll)
    return waiting
  }

  async function refreshAll(): Promise<void> {
    waiting = null
    for (const { record, state } of agents.list()) {
      if (!isLive(state.kind) && state.kind !== 'starting') continue
      try {
        if (agents.find(record.id)) await write(record.id)
      } catch (error) {
        deps.log.warn(
          { agentId: record.id, err: error },
          'failed to write bootstrap files; the agent uses the previous ones',
        )
      }
    }
  }

  return {
    directoryOf,
    write: (agentId) => inTurn(() => write(agentId)),
    refresh,
    layOnce: async (agentId, { doorToken, link }) => {
      await lay(agentId, doorTokenFile, doorToken)
      if (link !== null) await lay(agentId, linkKeyFile, Buffer.from(link.key).toString('base64url'))
    },
    takeOnce: async (agentId) => {
      for (const name of onceFiles) await rm(join(directoryOf(agentId), name), { force: true })
    },
    remove: (agentId) => removeTree(directoryOf(agentId)),
    run: async (signal) => {
      while (!signal.aborted) {
        await deps.clock.sleep(refreshIntervalMs, signal).catch(() => {})
        if (!signal.aborted) await refresh()
      }
    },
  }
}

/** Different ids get different folders, also on case-insensitive file systems: `a-b`, `a_b` and `A-b`. */
export function briefingFolderName(agentId: string): string {
  return Buffer.from(agentId, 'utf8').toString('hex')
}

/** Returns the other agents that this agent may message, sorted by id. */
export function colleaguesOf(
  deps: Pick<BriefingDeps, 'agents' | 'decide'>,
  agentId: string,
): readonly Colleague[] {
  const caller: Caller = { kind: 'agent', agentId, token: 'door', run: null }
  return deps.agents
    .list()
    .filter(({ record }) => record.id !== agentId)
    .filter(({ record }) => deps.decide(caller, { do: 'message-agent', to: record.id }).allowed)
    .map(({ record }) => ({ id: record.id, role: record.role }))
}

/** Writes mcp.json, or deletes it for an agent without MCP servers, so that the agent loads no code for MCP. */
async function replaceServers(path: string, briefs: ReturnType<typeof mcpBriefs>): Promise<void> {
  if (briefs.length === 0) await rm(path, { force: true })
  else await replaceText(path, JSON.stringify(briefs))
}

/** Writes a file only if its text changed: by the modification time the agent knows that its prompt is current. */
async function replaceText(path: string, text: string): Promise<void> {
  if ((await readTextFile(path)) !== text) await writeFileAtomically(path, text, 0o644)
}
