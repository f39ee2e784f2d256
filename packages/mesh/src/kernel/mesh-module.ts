import type { Routes } from '../http/routes.ts'
import type { Metric } from './metric.ts'

/**
 * What a module gives to the mesh. `start` is called in the order of the list of modules and `close` in the reverse; `run`
 * goes on from there until its signal aborts.
 */
export interface MeshModule<Api = unknown> {
  /** What other modules may ask of it. */
  readonly api: Api
  readonly routes?: Routes
  readonly metrics?: () => readonly Metric[]
  readonly start?: () => void | Promise<void>
  readonly run?: (signal: AbortSignal) => Promise<void>
  /** Once a minute: writes what is counted, takes away what is kept no longer. */
  readonly maintain?: () => void
  readonly close?: () => void | Promise<void>
}
