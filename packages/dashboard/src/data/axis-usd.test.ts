import { expect, test } from 'vitest'
import { axisUsd } from './axis-usd.ts'

test.each([0.0005, 0.001, 0.0025, 0.005, 0.01, 0.5, 2, 25])(
  'the labels of an axis with steps of %s dollars are different and name equal steps',
  (step) => {
    const amounts = [0, 1, 2, 3, 4].map((at) => at * step)
    const labels = amounts.map((usd) => axisUsd(usd, step))
    expect(new Set(labels).size).toBe(labels.length)
    for (const [at, label] of labels.entries())
      expect(Number(label.replaceAll(/[$,]/g, ''))).toBeCloseTo(amounts[at] ?? 0, 8)
  },
)
