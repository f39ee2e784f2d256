import type { Routes } from '../http/index.ts'
import type { Metric } from './metric.ts'

/**
 * What a module gives to the mesh. All are called in the order of the list of modules, `stop` and `close` in the reverse.
 */
export interface MeshModule<Api = unknown> {
  /** What other modules may ask of it. */
  readonly api: Api
  readonly routes?: Routes
  readonly metrics?: () => readonly Metric[]
  /** Once what agents run in is prepared, and before anything listens to them. */
  readonly prepare?: () => Promise<void>
  /** Once the mesh listens, the isolation of agents held, and before anything runs. */
  readonly start?: () => void | Promise<void>
  /** After all have started: takes up work, which may begin runs from here on. */
  readonly begin?: () => void | Promise<void>
  /** From then on, until the signal aborts. */
  readonly run?: (signal: AbortSignal) => Promise<void>
  /** What whoever started the mesh has to know, a sentence each. Asked once, after the start. */
  readonly notices?: () => Promise<readonly string[]> | readonly string[]
  /** Once a minute: writes what is counted, takes away what is kept no longer. */
  readonly maintain?: () => void
  /** Begins nothing more. What is under way in agents goes on until they are stopped, which is next. */
  readonly stop?: () => void | Promise<void>
  /** Nobody calls any more: lets go of everything. The database is still open. */
  readonly close?: () => void | Promise<void>
}
