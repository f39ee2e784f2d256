import { expect, test } from 'vitest'
import { prometheusText } from './prometheus-text.ts'

test('a family has its help, its type and a line per sample, with labels escaped', () => {
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
