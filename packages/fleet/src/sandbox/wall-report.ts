/** The result of one isolation check. */
export interface WallReport {
  /** Stable id, e.g. `host-ports-closed`. */
  readonly id: string
  readonly holds: boolean
  /** What was tested and the result. */
  readonly detail: string
}
