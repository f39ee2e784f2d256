/** One metric family with its samples, in the model of Prometheus. */
export interface Metric {
  readonly name: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly description: string
  readonly samples: readonly {
    /** Appended to the name of the family, for the parts of a histogram. */
    readonly suffix?: '_bucket' | '_sum' | '_count'
    readonly labels?: Readonly<Record<string, string>>
    readonly value: number
  }[]
}
