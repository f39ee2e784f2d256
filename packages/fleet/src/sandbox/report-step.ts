/** A failed step and its reason; the caller continues with a fallback. */
export interface FailedStep {
  /** The text of the step, as it was reported. */
  readonly step: string
  /** Whole sentences: what happened, and what the owner does about it. */
  readonly why: string
}

/** Reports the current step of long work to people. The previous step is done unless it is given as `failed`. */
export type ReportStep = (step: string, failed?: FailedStep) => void
