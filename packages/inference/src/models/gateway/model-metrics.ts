import type { Metric } from '@flotilla/identity/kernel'
import { coolDownLeftMs } from './model-health.ts'
import type { WatchedModel } from './watch-models.ts'

export function modelMetrics(watched: readonly WatchedModel[], now: number): readonly Metric[] {
  return [
    {
      name: 'flotilla_model_calls_total',
      kind: 'counter',
      description: 'Calls that reached a model since the mesh started, by outcome',
      samples: watched.flatMap(({ id: model, answered, failed }) => [
        { labels: { model, outcome: 'answered' }, value: answered },
        { labels: { model, outcome: 'failed' }, value: failed },
      ]),
    },
    {
      name: 'flotilla_model_cool_down_seconds',
      kind: 'gauge',
      description: 'Seconds until the cooldown of a model ends',
      samples: watched.map(({ id: model, health }) => ({
        labels: { model },
        value: coolDownLeftMs(health, now) / 1000,
      })),
    },
  ]
}
