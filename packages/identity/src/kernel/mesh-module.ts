import type { Routes } from '../http/index.ts'
import type { Metric } from './metric.ts'

/**
 * What a module contributes to the mesh. Modules are called in the order of their list; `stop` and `close` in reverse
 * order.
 */
export interface MeshModule<Api = unknown> {
  /** The interface for other modules. */
  readonly api: Api
  readonly routes?: Routes
  readonly metrics?: () => readonly Metric[]
  /** Called after the sandbox runtime is prepared and before any API listens to agents. */
  readonly prepare?: () => Promise<void>
  /** Called after the isolation check passed and the APIs listen, and before anything runs. */
  readonly start?: () => void | Promise<void>
  /** Called after all modules have started: resumes work, and may start runs from here on. */
  readonly begin?: () => void | Promise<void>
  /** Background work of the module, which begins after `begin` and ends once the signal aborts. */
  readonly run?: (signal: AbortSignal) => Promise<void>
  /** Sentences that the person who started the mesh should read. Asked once after the start. */
  readonly notices?: () => Promise<readonly string[]> | readonly string[]
  /** Called once a minute: writes counts and deletes expired data. */
  readonly maintain?: () => void
  /** Starts nothing more. Running work of agents continues until the agents are stopped, which comes next. */
  readonly stop?: () => void | Promise<void>
  /** Releases all resources; no more calls arrive. The database is still open. */
  readonly close?: () => void | Promise<void>
}
