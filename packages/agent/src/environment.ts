import { agentLinkVariables, onceFolderVariable } from '@flotilla/protocol/agent-link'
import { harnessNames, harnessVariable } from '@flotilla/protocol/harness-variable'
import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { HarnessName, HarnessProgram } from '@flotilla/protocol/harness-variable'
import { clamp, limits, wireLimits } from '@flotilla/protocol/limits'

/** The settings that the mesh passes to an agent at its start. None of them is a secret. */
export interface AgentEnvironment {
  readonly agentId: string
  readonly role: string
  readonly kind: 'operator' | 'worker'
  readonly mesh: { readonly host: string; readonly port: number }
  /** For a mesh on another machine: the identity that the keyed connections present. Null on one machine. */
  readonly link: { readonly identity: string; readonly proxyPort: number } | null
  /** Empty until the owner has chosen a model; until then the agent only gets work that needs no model. */
  readonly model: string
  /** Null when it is not set. */
  readonly embeddingModel: string | null
  /** Raw Ed25519 public key of the mesh, base64url. */
  readonly meshPublicKey: string
  readonly port: number
  /** Address to listen on; empty for all, as a container needs it. */
  readonly listenHost: string
  readonly dataDirectory: string
  readonly briefingDirectory: string
  /** The directory of secrets that can be read once at the start. */
  readonly onceDirectory: string
  readonly initialInstructions: string
  readonly taskIterationsMax: number
  readonly chatRoundsPerTurnMax: number
  readonly chatRoundsPerSessionMax: number
  /** The program that drives the agent's runs; null for the agent's own loop. */
  readonly harness: HarnessName | HarnessProgram | null
  /** An open stream gets a comment after this much silence. */
  readonly keepAliveMs: number
  /** Environment for programs that the agent runs: everything but what is meant for the agent process itself. */
  readonly programEnvironment: Readonly<Record<string, string>>
}

/** The interval is at most the one after which the mesh expects a keep-alive. */
const keepAliveRange = { default: wireLimits.keepAliveMs, min: 100, max: wireLimits.keepAliveMs }

type Variables = Readonly<Record<string, string | undefined>>

const defaultPort = 8400
const meshUrlPattern = /^http:\/\/(\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:]+\]|localhost):(\d{1,5})\/?$/
const publicKeyPattern = /^[A-Za-z0-9_-]{43}$/

/** Reads the settings; throws one Error that names every variable that is missing or wrong. */
export function readEnvironment(variables: Variables): AgentEnvironment {
  const complaints: string[] = []
  const required = (name: string): string => {
    const value = variables[name] ?? ''
    if (value === '') complaints.push(`${name} is missing`)
    return value
  }
  const kind = required('FLOTILLA_AGENT_KIND')
  if (kind !== '' && kind !== 'operator' && kind !== 'worker') {
    complaints.push(`FLOTILLA_AGENT_KIND is ${kind}, expected operator or worker`)
  }
  const mesh = readMeshUrl(required('FLOTILLA_MESH_URL'), complaints)
  const meshPublicKey = required('FLOTILLA_MESH_PUBLIC_KEY')
  if (meshPublicKey !== '' && !publicKeyPattern.test(meshPublicKey)) {
    complaints.push('FLOTILLA_MESH_PUBLIC_KEY is not a raw Ed25519 public key in base64url (43 characters)')
  }
  const environment: AgentEnvironment = {
    agentId: required('FLOTILLA_AGENT_ID'),
    role: variables['FLOTILLA_AGENT_ROLE'] ?? '',
    kind: kind === 'operator' ? 'operator' : 'worker',
    mesh,
    link: readLink(variables, complaints),
    model: variables['FLOTILLA_MODEL'] ?? '',
    embeddingModel: variables['FLOTILLA_EMBEDDING_MODEL']?.trim() || null,
    meshPublicKey,
    port: readPort(variables['FLOTILLA_PORT'], complaints),
    listenHost: variables['FLOTILLA_LISTEN_HOST'] ?? '',
    dataDirectory: variables['FLOTILLA_DATA'] ?? '/data',
    briefingDirectory: variables['FLOTILLA_BRIEFING'] ?? '/briefing',
    onceDirectory: variables[onceFolderVariable] ?? variables['FLOTILLA_BRIEFING'] ?? '/briefing',
    initialInstructions: variables['FLOTILLA_INITIAL_INSTRUCTIONS'] ?? '',
    taskIterationsMax: whole(limits.taskIterations, variables['FLOTILLA_MAX_ITERATIONS']),
    chatRoundsPerTurnMax: whole(limits.chatRoundsPerTurn, variables['FLOTILLA_CHAT_MAX_TOOL_ROUNDS']),
    chatRoundsPerSessionMax: whole(limits.chatRoundsPerSession, variables['FLOTILLA_CHAT_MAX_TOTAL_ROUNDS']),
    harness: readHarness(variables[harnessVariable], complaints),
    keepAliveMs: whole(keepAliveRange, variables['FLOTILLA_KEEP_ALIVE_MS']),
    programEnvironment: programVariables(variables),
  }
  if (complaints.length > 0) throw new Error(`The agent cannot start: ${complaints.join('; ')}.`)
  return environment
}

function whole(range: Parameters<typeof clamp>[0], text: string | undefined): number {
  return Math.trunc(clamp(range, text === undefined || text.trim() === '' ? undefined : Number(text)))
}

function readMeshUrl(text: string, complaints: string[]): { host: string; port: number } {
  const parts = meshUrlPattern.exec(text)
  if (text !== '' && !parts) complaints.push(`FLOTILLA_MESH_URL is ${text}, expected http://ADDRESS:PORT`)
  return { host: (parts?.[1] ?? '').replace(/^\[|\]$/g, ''), port: Number(parts?.[2] ?? 0) }
}

function readLink(variables: Variables, complaints: string[]): AgentEnvironment['link'] {
  const { identity, proxyPort } = agentLinkVariables
  const known = variables[identity] ?? ''
  if (known === '') return null
  const port = Number(variables[proxyPort])
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    complaints.push(`${proxyPort} is ${variables[proxyPort] ?? 'missing'}, expected a port number`)
  }
  return { identity: known, proxyPort: port }
}

/** The mesh writes this variable; its form is checked without a library, which would slow every start. */
function readHarness(text: string | undefined, complaints: string[]): AgentEnvironment['harness'] {
  if (text === undefined || text === '') return null
  const name = harnessNames.find((known) => known === text)
  if (name !== undefined) return name
  const program = parsedHarness(text)
  if (program === null) complaints.push(`${harnessVariable} names no harness and is no program as JSON`)
  return program
}

function parsedHarness(text: string): HarnessProgram | null {
  try {
    const value: unknown = JSON.parse(text)
    if (!isJsonObject(value)) return null
    const { command, environment } = value
    const words = Array.isArray(command) ? command.filter((word) => typeof word === 'string') : []
    if (words.length === 0 || !isJsonObject(environment)) return null
    const texts = Object.entries(environment).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    )
    return { command: words, environment: Object.fromEntries(texts) }
  } catch {
    return null
  }
}

function readPort(text: string | undefined, complaints: string[]): number {
  if (text === undefined || text === '') return defaultPort
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port
  complaints.push(`FLOTILLA_PORT is ${text}, expected a port number`)
  return defaultPort
}

function programVariables(variables: Variables): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined || name.startsWith('FLOTILLA_') || name === 'NODE_COMPILE_CACHE') continue
    kept[name] = value
  }
  // Only for programs: in the agent process itself this variable would double the start time (24 → 47 ms of CPU).
  if (kept['HTTP_PROXY'] !== undefined || kept['http_proxy'] !== undefined) kept['NODE_USE_ENV_PROXY'] = '1'
  return kept
}
