/** One metric family with its samples, as Prometheus takes them. */
export interface Metric {
  readonly name: string
  readonly kind: 'counter' | 'gauge'
  readonly description: string
  readonly samples: readonly { readonly labels?: Readonly<Record<string, string>>; readonly value: number }[]
}
