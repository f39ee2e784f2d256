import { agentLinkVariables } from '@flotilla/protocol/agent-link'
import type { AgentLinkKey } from '@flotilla/protocol/agent-link'
import { isolationRungSchema } from '@flotilla/protocol/isolation'
import { createHash } from 'node:crypto'
import { sizeMark } from '../../sandbox/index.ts'
import type { AgentSize, SandboxSpec } from '../../sandbox/index.ts'
import type { AgentRecord } from '../registry/agent-record.ts'
import type { Placed } from './agent-placing.ts'
import type { JoinedSetup } from './program-setup.ts'
import type { IssuedTokens } from '../connection/agent-tokens.ts'

/** Label with the id of the start that created a sandbox; only the sandbox of an agent's last start is adopted. */
export const startIdLabel = 'flotilla.start'
/** Label that identifies the API address and mesh key of a sandbox; one with other values cannot be adopted. */
export const meshEndpointLabel = 'flotilla.door'
/** Label with the model that a sandbox was started with, so that an adopted sandbox is recognized as outdated. */
export const modelLabel = 'flotilla.model'

/** Label with the mark of what the programs find in a sandbox, so that an adopted one is recognized as outdated. */
export const programsLabel = 'flotilla.programs'

/** Label with the digest of the list of packages in the sandbox's image; empty without packages. */
export const packagesLabel = 'flotilla.packages'

/** Label with the mark of the sandbox's size; empty for the default. */
export const sizeLabel = 'flotilla.size'

/** Labels with a sandbox's isolation level, the requested level and the reason for a difference; read at adoption. */
const isolationLabels = {
  rung: 'flotilla.isolation',
  wanted: 'flotilla.isolation.wanted',
  floor: 'flotilla.isolation.floor',
  fallback: 'flotilla.isolation.fallback',
} as const

export interface MeshEndpoint {
  readonly host: string
  readonly port: number
  /** Port of the forward proxy, at the same address as the agent API. */
  readonly proxyPort: number
  readonly publicKeyBase64url: string
}

/** Builds the sandbox spec of an agent. Pure. */
export function agentSandbox(options: {
  readonly agent: AgentRecord
  /** The agent's model; null if the owner has not chosen one yet. */
  readonly model: string | null
  readonly startId: string
  readonly tokens: IssuedTokens
  readonly endpoint: MeshEndpoint
  /** The key for the agent's connections to the mesh; null if both are on one machine. */
  readonly link: AgentLinkKey | null
  readonly briefingDirectory: string
  /** Loop limits by variable name. */
  readonly loopLimits: Readonly<Record<string, string>>
  readonly size: AgentSize
  readonly dataLimitBytes: number
  readonly placed: Placed
  readonly programs: JoinedSetup
  readonly packages: { readonly id: string | null; readonly mark: string }
}): SandboxSpec {
  const { agent, endpoint, tokens, link, packages } = options
  // Programs use plain HTTP. On another machine they connect to the agent process, which forwards over a keyed
  // connection.
  const near = link === null ? endpoint : { ...endpoint, host: '127.0.0.1' }
  return {
    agentId: agent.id,
    kind: agent.kind,
    image: packages.id,
    isolation: options.placed.rung,
    ...options.size,
    dataLimitBytes: options.dataLimitBytes,
    environment: {
      ...options.programs.environment,
      ...options.loopLimits,
      FLOTILLA_AGENT_ID: agent.id,
      FLOTILLA_AGENT_ROLE: agent.role,
      FLOTILLA_AGENT_KIND: agent.kind,
      FLOTILLA_MESH_URL: endpointUrl(endpoint),
      ...(link === null
        ? {}
        : {
            [agentLinkVariables.identity]: link.identity,
            [agentLinkVariables.proxyPort]: `${endpoint.proxyPort}`,
          }),
      FLOTILLA_MODEL: options.model ?? '',
      FLOTILLA_MESH_PUBLIC_KEY: endpoint.publicKeyBase64url,
      FLOTILLA_INITIAL_INSTRUCTIONS: agent.instructions,
      OPENAI_BASE_URL: `${endpointUrl(near)}/v1`,
      OPENAI_API_KEY: tokens.program,
      // The Anthropic client adds the API version to the path by itself.
      ANTHROPIC_BASE_URL: endpointUrl(near),
      ANTHROPIC_API_KEY: tokens.program,
      GOOGLE_GEMINI_BASE_URL: endpointUrl(near),
      GEMINI_API_KEY: tokens.program,
      ...proxyVariables(near, { agentId: agent.id, token: tokens.program }),
    },
    briefingDirectory: options.briefingDirectory,
    files: {},
    labels: { ...startLabels(options), ...placedLabels(options.placed) },
  }
}

function startLabels(options: {
  readonly agent: AgentRecord
  readonly size: AgentSize
  readonly startId: string
  readonly endpoint: MeshEndpoint
  readonly model: string | null
  readonly programs: JoinedSetup
  readonly packages: { readonly mark: string }
}): Record<string, string> {
  return {
    [startIdLabel]: options.startId,
    [meshEndpointLabel]: meshEndpointMark(options.endpoint),
    [modelLabel]: options.model ?? '',
    [programsLabel]: options.programs.mark,
    [packagesLabel]: options.packages.mark,
    [sizeLabel]: sizeMark(options.agent.kind, options.size),
  }
}

function placedLabels({ rung, wish, fallback }: Placed): Record<string, string> {
  return {
    [isolationLabels.rung]: rung,
    [isolationLabels.wanted]: wish.wanted,
    [isolationLabels.floor]: wish.floor,
    ...(fallback === null ? {} : { [isolationLabels.fallback]: fallback }),
  }
}

/**
 * Reads the isolation level from a sandbox's labels; without them it is a container of an older release. Pure.
 */
export function placedOf(labels: Readonly<Record<string, string>>): Placed {
  const rung = (name: 'rung' | 'wanted' | 'floor') =>
    isolationRungSchema.safeParse(labels[isolationLabels[name]]).data ?? 'container'
  return {
    rung: rung('rung'),
    wish: { wanted: rung('wanted'), floor: rung('floor') },
    fallback: labels[isolationLabels.fallback] ?? null,
  }
}

/**
 * Returns proxy variables for programs, in upper and lower case, because programs differ in which they read. The
 * agent process itself ignores them and connects only to the mesh.
 */
function proxyVariables(
  endpoint: MeshEndpoint,
  program: { readonly agentId: string; readonly token: string },
): Record<string, string> {
  const proxy = `http://${program.agentId}:${program.token}@${hostText(endpoint)}:${endpoint.proxyPort}`
  const direct = [...new Set([endpoint.host, '127.0.0.1', 'localhost', '::1'])].join(',')
  const values = { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, NO_PROXY: direct }
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => [
      [name, value],
      [name.toLowerCase(), value],
    ]),
  )
}

/** Returns a mark of API address, proxy port and mesh key; a sandbox with an equal mark can be adopted. */
export function meshEndpointMark(endpoint: MeshEndpoint): string {
  return createHash('sha256')
    .update(`${endpointUrl(endpoint)} ${endpoint.proxyPort} ${endpoint.publicKeyBase64url}`)
    .digest('hex')
    .slice(0, 16)
}

function endpointUrl(endpoint: MeshEndpoint): string {
  return `http://${hostText(endpoint)}:${endpoint.port}`
}

function hostText({ host }: MeshEndpoint): string {
  return host.includes(':') ? `[${host}]` : host
}
