/** A failed step and its reason; the caller continues with a fallback. */
export interface FailedStep {
  /** The text of the step, as it was reported. */
  readonly step: string
  /** Whole sentences: what happened, and what the owner does about it. */
  readonly why: string
}

/** Says in plain words what long work does now. The step before is done with that, unless it is the one that failed. */
export type ReportStep = (step: string, failed?: FailedStep) => void
