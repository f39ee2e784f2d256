/** What a caller needs first: status, title, whether a retry can help, and the repair. */
export interface ProblemKind {
  readonly status: number
  readonly title: string
  readonly retryable: boolean
  readonly repair: string
}
