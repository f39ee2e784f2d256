import type { WallReport } from './wall-report.ts'

/**
 * PORT: where the browsers of agents live, one container for each. Adapters pass `browser-containers.conformance.ts`.
 *
 * Contract
 * - B1 `start` re-creates: whatever ran for this agent before is gone, its profile stays.
 * - B2 `start` resolves once the process has been started, not once it answers.
 * - B3 `stop`, `removeProfile` and `removeAll` are idempotent; what is unknown is no error.
 * - B4 `removeAll` takes away what an earlier process of ours left, and keeps profiles.
 * - B5 one browser reaches neither another nor an agent: what is on the gateway's proxy port alone.
 * - B6 what cannot be done rejects with `SandboxError`, whose message names the repair.
 * - B7 `checkWalls` tries from inside what B5 says, and the way out, as they are at that moment.
 */
export interface BrowserContainers {
  /** Makes image and network ready. Idempotent; minutes the first time on a machine. */
  prepare(signal: AbortSignal): Promise<void>
  /** Where the proxy of browsers must listen; port 0 for any. Known after `prepare`. */
  proxyPlace(): { readonly host: string; readonly port: number }
  /** The proxy must be listening. */
  checkWalls(signal: AbortSignal): Promise<readonly WallReport[]>
  /** Resolves to where the mesh reaches it. */
  start(spec: BrowserSpec): Promise<{ readonly host: string; readonly port: number }>
  /** Null where there is none. */
  inspect(agentId: string): Promise<BrowserContainerState | null>
  stop(agentId: string): Promise<void>
  removeProfile(agentId: string): Promise<void>
  removeAll(): Promise<void>
}

export interface BrowserSpec {
  readonly agentId: string
  /** Raw, base64url: by it the browser knows the mesh. */
  readonly meshPublicKey: string
  /** Of the proxy of browsers, at its place. */
  readonly proxyPort: number
  /** Host directory mounted read-only at `/briefing`. */
  readonly briefingDirectory: string
  /** What may lie in the profile in all. */
  readonly profileLimitBytes: number
}

export interface BrowserContainerState {
  readonly running: boolean
  /** Set when not running: exit code, and the last words of the process. */
  readonly exit?: { readonly code: number; readonly outOfMemory: boolean; readonly lastWords: string }
}
