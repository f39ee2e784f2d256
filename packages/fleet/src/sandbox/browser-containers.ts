import type { WallReport } from './wall-report.ts'

/**
 * PORT: runs the browser of each agent in a container of its own. Adapters pass
 * `browser-containers.conformance.ts`.
 *
 * Contract
 * - B1 `start` re-creates the container: an earlier container of this agent is removed, its profile is kept.
 * - B2 `start` resolves once the process has been started; the process may not answer yet.
 * - B3 `stop`, `removeProfile` and `removeAll` are idempotent; an unknown agent is not an error.
 * - B4 `removeAll` removes the containers that an earlier mesh process left, and keeps profiles.
 * - B5 A browser reaches no other browser and no agent, only the proxy port of the gateway.
 * - B6 An operation that cannot be done rejects with `SandboxError`, whose message names the repair.
 * - B7 `checkWalls` tests B5 and the path to the proxy from inside a container, again in each call.
 */
export interface BrowserContainers {
  /** Creates the image and the network. Idempotent; the first call on a machine takes minutes. */
  prepare(signal: AbortSignal): Promise<void>
  /** Returns the address on which the proxy for browsers must listen; port 0 for any. Known after `prepare`. */
  proxyPlace(): { readonly host: string; readonly port: number }
  /** Tests the walls of browsers from inside. The browser proxy must be listening. */
  checkWalls(signal: AbortSignal): Promise<readonly WallReport[]>
  /** Starts a browser and resolves to the address at which the mesh reaches it. */
  start(spec: BrowserSpec): Promise<{ readonly host: string; readonly port: number }>
  /** Returns the state of the agent's browser container; null if the agent has none. */
  inspect(agentId: string): Promise<BrowserContainerState | null>
  stop(agentId: string): Promise<void>
  removeProfile(agentId: string): Promise<void>
  removeAll(): Promise<void>
}

export interface BrowserSpec {
  readonly agentId: string
  /** Raw public key in base64url, with which the browser authenticates the mesh. */
  readonly meshPublicKey: string
  /** The port on which the mesh's browser proxy listens. */
  readonly proxyPort: number
  /** Host directory mounted read-only at `/briefing`. */
  readonly briefingDirectory: string
  /** Size limit of the profile. */
  readonly profileLimitBytes: number
}

export interface BrowserContainerState {
  readonly running: boolean
  /** Set when the browser is not running: exit code, and the last output of the process. */
  readonly exit?: { readonly code: number; readonly outOfMemory: boolean; readonly lastWords: string }
}
