/** What a caller reads first: status, title, whether trying again later can help, and the repair. */
export interface ProblemKind {
  readonly status: number
  readonly title: string
  readonly retryable: boolean
  readonly repair: string
}
