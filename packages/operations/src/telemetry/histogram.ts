import type { Metric } from '@flotilla/identity/kernel'

/** Upper bounds in seconds: from a call of a local model to a run that waits for a person. */
const bucketEnds = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800] as const
/** How many series one histogram has; further ones are counted under the labels `others`. */
export const seriesMax = 200

type Labels = Readonly<Record<string, string>>

interface Series {
  readonly labels: Labels
  /** One count for each bound, and one for values above the last. */
  readonly counts: number[]
  sumSeconds: number
}

/** A histogram of durations by labels since the mesh started. */
export interface Histogram {
  observe(labels: Labels, ms: number): void
  metric(): Metric
}

/** `others` are the labels that replace all further ones when there are too many series. */
export function createHistogram(options: {
  readonly name: string
  readonly description: string
  readonly others: Labels
}): Histogram {
  const all = new Map<string, Series>()

  function seriesOf(labels: Labels): Series {
    const key = JSON.stringify(labels)
    const known = all.get(key)
    if (known) return known
    if (all.size >= seriesMax && labels !== options.others) return seriesOf(options.others)
    const made = { labels, counts: Array.from({ length: bucketEnds.length + 1 }, () => 0), sumSeconds: 0 }
    all.set(key, made)
    return made
  }

  return {
    observe: (labels, ms) => {
      const seconds = Math.max(0, ms) / 1000
      const series = seriesOf(labels)
      const found = bucketEnds.findIndex((end) => seconds <= end)
      const at = found === -1 ? bucketEnds.length : found
      series.counts[at] = (series.counts[at] ?? 0) + 1
      series.sumSeconds += seconds
    },
    metric: () => ({
      name: options.name,
      kind: 'histogram',
      description: options.description,
      samples: [...all.values()].flatMap(samplesOf),
    }),
  }
}

/** As in Prometheus, each bucket includes the counts of the lower ones. */
function samplesOf({ labels, counts, sumSeconds }: Series): Metric['samples'] {
  let below = 0
  const buckets = counts.map((count, index) => {
    below += count
    return {
      suffix: '_bucket' as const,
      labels: { ...labels, le: String(bucketEnds[index] ?? '+Inf') },
      value: below,
    }
  })
  return [
    ...buckets,
    { suffix: '_sum' as const, labels, value: sumSeconds },
    { suffix: '_count' as const, labels, value: below },
  ]
}
