import type { AgentSizeSettings } from '@flotilla/foundation/config'
import type { SandboxRuntime } from '../../sandbox/index.ts'
import type { AgentConnection } from '../connection/agent-connection.ts'
import type { AgentAddress } from '../connection/agent-exchange.ts'
import type { AgentLinks } from '../connection/agent-links.ts'
import type { MachineRoom } from './machine-room.ts'
import type { AgentPackages } from './agent-packages.ts'
import type { AgentPlacing, Placed } from './agent-placing.ts'
import type { MeshEndpoint } from './agent-sandbox.ts'
import type { AgentTable } from '../registry/agent-table.ts'
import type { AgentTokens } from '../connection/agent-tokens.ts'
import type { AgentMutex } from './agent-mutex.ts'
import type { Briefings } from '../briefing/briefings.ts'
import type { McpServerTable } from '../registry/mcp-server-table.ts'
import type { SeedFiles } from '../connection/seed-files.ts'
import type { FleetKernel } from '../../events/index.ts'

/**
 * What the use cases of the agents module share.
 *
 * - F1 Lifecycle changes of one agent run one after another (`mutex`), and after each change the engine and
 *   the table agree.
 * - F2 A token becomes valid before its sandbox starts and invalid before its sandbox is removed, so no token
 *   outlives its sandbox.
 * - F3 A row says `running` or `unhealthy` only while a sandbox with the row's start id is believed to run.
 * - F4 Subscribers of `sandboxGone` are called once for every such sandbox that has ended.
 */
export interface AgentContext extends Pick<
  FleetKernel,
  'database' | 'clock' | 'newId' | 'log' | 'journal' | 'events' | 'fleetEvents'
> {
  readonly runtime: SandboxRuntime
  readonly agents: AgentTable
  readonly mcpServers: McpServerTable
  /** Writes an agent's undelivered files before the first caller that reaches the agent continues. */
  readonly seedFiles: SeedFiles
  readonly tokens: AgentTokens
  readonly mutex: AgentMutex
  readonly briefings: Briefings
  readonly sandboxes: LiveSandboxes
  readonly settings: FleetSettings
  readonly placing: AgentPlacing
  readonly packages: AgentPackages
  readonly room: MachineRoom
}

/** In-memory state of running sandboxes and their connections; lost when the process ends. */
export interface LiveSandboxes {
  /** Addresses of running agents. */
  readonly addresses: Map<string, AgentAddress>
  /**
   * Running sandboxes whose agent has changed since the start, with the model of each sandbox. They are re-created
   * before the next run.
   */
  readonly outdated: Map<string, string | null>
  /** The model that each sandbox was started with; null for a sandbox that can do only work without a model. */
  readonly startedModels: Map<string, string | null>
  /** The mark of what the programs of each running sandbox find in it. */
  readonly startedPrograms: Map<string, string>
  /** The mark of the packages of each running sandbox, with list and lock; empty without packages. */
  readonly startedPackages: Map<string, string>
  /** The mark of the size of each running sandbox; empty for the default. */
  readonly startedSizes: Map<string, string>
  /** When each running agent got its last request, milliseconds since 1970. */
  readonly lastUsed: Map<string, number>
  /** The isolation level of each running sandbox, and the level that was requested at its start. */
  readonly placed: Map<string, Placed>
  /** Returns what the start of an agent waits for, such as memory or an image; null once it knows no more. */
  readonly startWaits: Map<string, () => string | null>
  readonly links: AgentLinks
  readonly connect: (agentId: string, address: AgentAddress) => AgentConnection
  readonly endpoint: () => MeshEndpoint
}

/** Settings, read at each use. */
export interface FleetSettings {
  /** Returns the model for agents without their own; null if the owner has not chosen a default. */
  readonly defaultModel: () => string | null
  /** Returns a text that tells the owner what to do if there is no default model. */
  readonly missingModel: () => Promise<string>
  /** Loop limits by variable name, for the environment of every agent. */
  readonly loopLimits: Readonly<Record<string, string>>
  /** Returns the number of restarts within an hour after which an agent goes into quarantine. */
  readonly restartsPerHour: () => number
  /** Returns how long an agent must be idle before it hibernates, in milliseconds; null for never. */
  readonly hibernateAfterMs: (agentId: string) => number | null
  /** Returns the size that the owner set for the agent. */
  readonly sizeSettings: (agentId: string) => AgentSizeSettings
  /** Returns the image that the owner set for the agent. */
  readonly imageSetting: (agentId: string) => string | undefined
  /** Returns the limit of the agent's data below /data, bytes. */
  readonly dataLimitBytes: (agentId: string) => number
}
