import { expect, test } from 'vitest'
import { prometheusText } from './prometheus-text.ts'

test('a metric family is written with help, type and one line per sample, with escaped labels', () => {
  const text = prometheusText([
    {
      name: 'flotilla_runs',
      kind: 'gauge',
      description: 'Runs by state',
      samples: [{ labels: { state: 'a"b\\c\nd' }, value: 3 }, { value: 0.5 }],
    },
  ])
  expect(text).toBe(
    '# HELP flotilla_runs Runs by state\n# TYPE flotilla_runs gauge\nflotilla_runs{state="a\\"b\\\\c\\nd"} 3\nflotilla_runs 0.5\n',
  )
})
