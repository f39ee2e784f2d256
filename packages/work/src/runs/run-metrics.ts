import type { Metric } from '@flotilla/identity/kernel'
import type { Ledger } from './ledger.ts'

/** The count of unread outcomes stops here; an owner with more does not need the exact number. */
const undeliveredCountedMax = 1000

export function runMetrics({ queries, delivery }: Pick<Ledger, 'queries' | 'delivery'>): readonly Metric[] {
  return [
    {
      name: 'flotilla_runs',
      kind: 'gauge',
      description: 'Runs in the ledger by state',
      samples: Object.entries(queries.countByState()).map(([state, value]) => ({ labels: { state }, value })),
    },
    {
      name: 'flotilla_notes_undelivered',
      kind: 'gauge',
      description: 'Outcomes that were not delivered to their caller yet',
      samples: [{ value: delivery.outbox.open(undeliveredCountedMax).length }],
    },
  ]
}
