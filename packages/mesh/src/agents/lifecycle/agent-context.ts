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
import type { SeedFiles } from '../registry/seed-files.ts'
import type { Kernel } from '../../kernel/index.ts'

/**
 * What the use cases of this module share.
 *
 * - F1 Changes of one agent's life happen in its turn (`mutex`), with what the engine holds and what the table says
 *   brought together before the turn ends.
 * - F2 A token counts from before its sandbox starts until before that sandbox is taken away; none outlives it.
 * - F3 A row says `running` or `unhealthy` only while a sandbox with the row's start id is believed to run.
 * - F4 Whoever listens on `gone` hears once of every sandbox that was so and is no more.
 */
export interface AgentContext extends Pick<
  Kernel,
  'database' | 'clock' | 'newId' | 'log' | 'journal' | 'events' | 'hooks'
> {
  readonly runtime: SandboxRuntime
  readonly agents: AgentTable
  readonly mcpServers: McpServerTable
  /** Laid into an agent before whoever reaches it goes on. */
  readonly seedFiles: SeedFiles
  readonly tokens: AgentTokens
  readonly mutex: AgentMutex
  readonly briefings: Briefings
  readonly sandboxes: LiveSandboxes
  readonly settings: FleetSettings
  readonly placing: AgentPlacing
}

/** What is known of sandboxes that run, and how they are spoken with; gone with the process. */
export interface LiveSandboxes {
  /** Where agents that run are reached. */
  readonly addresses: Map<string, AgentAddress>
  /** Sandboxes whose agent was changed since: the model that each was started with. Re-created before the next run. */
  readonly outdated: Map<string, string | null>
  /** The model that each sandbox was started with; one without can do what asks none. */
  readonly startedModels: Map<string, string | null>
  /** When something was last asked of each agent that runs. */
  readonly lastUsed: Map<string, number>
  /** What each sandbox that runs runs on, and what was wished of it then. */
  readonly placed: Map<string, Placed>
  readonly links: AgentLinks
  readonly connect: (agentId: string, address: AgentAddress) => AgentConnection
  readonly endpoint: () => MeshEndpoint
}

/** As they are at the moment of asking. */
export interface FleetSettings {
  /** Model for agents that name none; null when the owner has chosen none either. */
  readonly defaultModel: () => string | null
  /** What the owner does where there is none. */
  readonly missingModel: () => Promise<string>
  /** Loop limits by variable name, for the environment of every agent. */
  readonly loopLimits: Readonly<Record<string, string>>
  /** Restarts within an hour after which an agent is in quarantine. */
  readonly restartsPerHour: () => number
  /** Idle for so long, an agent sleeps, milliseconds; null for never. */
  readonly hibernateAfterMs: (agentId: string) => number | null
  /** What the agent may keep below /data. */
  readonly dataLimitBytes: (agentId: string) => number
}
