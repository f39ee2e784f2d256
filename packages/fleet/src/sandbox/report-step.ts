/** A failed step and its reason; the caller continues with a fallback. */
export interface FailedStep {
  /** The text with which the step was reported. */
  readonly step: string
  /** Whole sentences: what happened, and what the owner should do. */
  readonly why: string
}

/** Reports the current step of long work to people. The previous step succeeded unless `failed` names it. */
export type ReportStep = (step: string, failed?: FailedStep) => void
