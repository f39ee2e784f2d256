import type { SandboxRuntime } from '../../sandbox/index.ts'
import type { AgentConnection } from '../connection/agent-connection.ts'
import type { AgentAddress } from '../connection/agent-exchange.ts'
import type { AgentLinks } from '../connection/agent-links.ts'
import type { AgentPlacing, Placed } from './agent-placing.ts'
import type { MeshEndpoint } from './agent-sandbox.ts'
import type { AgentTable } from '../registry/agent-table.ts'
import type { AgentTokens } from '../connection/agent-tokens.ts'
import type { AgentMutex } from './agent-mutex.ts'
import type { Briefings } from '../briefing/briefings.ts'
import type { McpServerTable } from '../registry/mcp-server-table.ts'
import type { SeedFiles } from '../connection/seed-files.ts'
import type { Kernel } from '@flotilla/identity/kernel'

/**
 * What the use cases of this module share.
 *
 * - F1 Lifecycle changes of one agent run in its turn (`mutex`), and the engine and the table agree before
 *   the turn ends.
 * - F2 A token is valid from before its sandbox starts until before that sandbox is removed; no token
 *   outlives its sandbox.
 * - F3 A row says `running` or `unhealthy` only while a sandbox with the row's start id is believed to run.
 * - F4 Listeners of `gone` are called once for every such sandbox that has ended.
 */
export interface AgentContext extends Pick<
  Kernel,
  'database' | 'clock' | 'newId' | 'log' | 'journal' | 'events' | 'hooks'
> {
  readonly runtime: SandboxRuntime
  readonly agents: AgentTable
  readonly mcpServers: McpServerTable
  /** Files that are placed in an agent before the first caller that reaches it continues. */
  readonly seedFiles: SeedFiles
  readonly tokens: AgentTokens
  readonly mutex: AgentMutex
  readonly briefings: Briefings
  readonly sandboxes: LiveSandboxes
  readonly settings: FleetSettings
  readonly placing: AgentPlacing
}

/** In-memory state of running sandboxes and their connections; lost when the process ends. */
export interface LiveSandboxes {
  /** Addresses of running agents. */
  readonly addresses: Map<string, AgentAddress>
  /**
   * Sandboxes whose agent was changed since, with the model that each was started with. Re-created before
   * the next run.
   */
  readonly outdated: Map<string, string | null>
  /** The model that each sandbox was started with; a sandbox without a model can do work that needs none. */
  readonly startedModels: Map<string, string | null>
  /** When each running agent got its last request, milliseconds since 1970. */
  readonly lastUsed: Map<string, number>
  /** The isolation level of each running sandbox, and the level that was requested at its start. */
  readonly placed: Map<string, Placed>
  readonly links: AgentLinks
  readonly connect: (agentId: string, address: AgentAddress) => AgentConnection
  readonly endpoint: () => MeshEndpoint
}

/** Settings, read at each use. */
export interface FleetSettings {
  /** Model for agents without one of their own; null if the owner has not chosen a default. */
  readonly defaultModel: () => string | null
  /** Explains to the owner what to do if there is no default model. */
  readonly missingModel: () => Promise<string>
  /** Loop limits by variable name, for the environment of every agent. */
  readonly loopLimits: Readonly<Record<string, string>>
  /** Restarts within an hour after which an agent is in quarantine. */
  readonly restartsPerHour: () => number
  /** How long an agent must be idle before it hibernates, in milliseconds; null for never. */
  readonly hibernateAfterMs: (agentId: string) => number | null
  /** The limit of the agent's data below /data. */
  readonly dataLimitBytes: (agentId: string) => number
}
