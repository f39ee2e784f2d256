import type { Metric } from '@flotilla/identity/kernel'
import type { IsolationState } from './watch-isolation.ts'

export function isolationMetrics({ checkedAt, checks }: IsolationState): readonly Metric[] {
  return [
    {
      name: 'flotilla_wall_holds',
      kind: 'gauge',
      description: '1 if the isolation boundary passed its last check, else 0',
      samples: checks.map(({ id, holds }) => ({ labels: { wall: id }, value: holds ? 1 : 0 })),
    },
    {
      name: 'flotilla_walls_checked_seconds',
      kind: 'gauge',
      description: 'Time of the last isolation check, seconds since 1970',
      samples: checkedAt === null ? [] : [{ value: checkedAt / 1000 }],
    },
  ]
}
