/** A step that was in vain, and why; what comes after stands in for it. */
export interface FailedStep {
  /** Its words, as they were told. */
  readonly step: string
  /** Whole sentences: what happened, and what the owner does to have it otherwise. */
  readonly why: string
}

/** Says in plain words what long work does now. The step before is done with that, unless it is the one that failed. */
export type ReportStep = (step: string, failed?: FailedStep) => void
