import { createHash } from 'node:crypto'
import type { IsolationRung } from '@flotilla/protocol/isolation'
import { containerLimits } from './default-agent-sizes.ts'
import type { AgentKind, AgentSize } from './default-agent-sizes.ts'

/** The specification of a sandbox, independent of the engine. Pure. */
export interface SandboxSpec extends AgentSize {
  /** Agent id as the owner wrote it; different ids get different engine names. */
  readonly agentId: string
  readonly kind: AgentKind
  /** Id of an image of `PackageImages`; null for the agent image. */
  readonly image: string | null
  /** An isolation level that `tryRung` found available. Ignored by a runtime without isolation. */
  readonly isolation: IsolationRung
  /** Size limit of everything below `/data`. */
  readonly dataLimitBytes: number
  /** Environment of the agent process. Contains neither keys nor the agent token. */
  readonly environment: Readonly<Record<string, string>>
  /** Host directory mounted read-only at `/briefing` (PROJECT.md, SYSTEM.md). */
  readonly briefingDirectory: string
  /** Files that are written below `/data` as UID 1000, mode 0600, before the process starts. Key: relative path. */
  readonly files: Readonly<Record<string, string>>
  /** Extra labels, among them the start id. */
  readonly labels: Readonly<Record<string, string>>
}

/** Memory limits of containers that run beside agents, in bytes. */
export const besideAgents = {
  /** The browser of an agent. */
  browser: 2 * 1024 ** 3,
  /** The build of an image with packages. */
  build: 2 * 1024 ** 3,
  /** The choice of versions for requested packages: less, because agents cause it before a person decides. */
  choice: 1024 ** 3,
} as const

/** Hardening of every agent container, whatever its kind. */
export const sandboxHardening = {
  uid: 1000,
  pidsLimit: containerLimits.pids,
  tmpSizeBytes: containerLimits.tmpBytes,
  /** The limit for one program. */
  openFilesMax: 8_192,
  agentPort: 8400,
} as const

/** Returns eight hex digits that distinguish the homes on one machine in every engine name. */
export function homeTag(homeId: string): string {
  return createHash('sha256').update(homeId).digest('hex').slice(0, 8)
}

/** Returns the label of everything that a home has in an engine or a cluster. */
export function homeLabel(homeId: string): string {
  return `flotilla.home=${homeTag(homeId)}`
}

/**
 * Returns the name and host name of an agent's container. The engine's name server resolves such names in every
 * container, so the name reveals nothing about the agent and cannot be guessed without the home's id.
 */
export function sandboxName(homeId: string, agentId: string): string {
  const digest = createHash('sha256').update(`${homeId}\0${agentId}`).digest('hex')
  return `flotilla-${homeTag(homeId)}-${digest.slice(0, 32)}`
}

/** Returns different names for different agent ids, also if the ids differ only in case or in `-` and `_`. */
export function spelledName(homeId: string, agentId: string): string {
  return `flotilla-${homeTag(homeId)}-${Buffer.from(agentId, 'utf8').toString('hex')}`
}

/** An agent may store one file for this many bytes of its limit, the same ratio that ext4 uses for inodes. */
const bytesPerFile = 16_384
/** The minimum number of files, so that even a small limit allows a project with its dependencies. */
const filesMin = 16_384

/** Returns the number of files and folders allowed below `/data`, from the size limit. Pure. */
export function fileCountMax(limitBytes: number): number {
  return Math.max(filesMin, Math.floor(limitBytes / bytesPerFile))
}
