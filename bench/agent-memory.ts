import { setTimeout as delay } from 'node:timers/promises'
import type { Bench, BenchOptions, BenchReport } from './bench.ts'
import { prepareGround } from './container-ground.ts'
import type { BenchGround } from './container-ground.ts'
import { containerVariants } from './container-variants.ts'
import type { VariantName } from './container-variants.ts'
import { median } from './statistics.ts'
import { figure, ratio } from './table.ts'
import type { Table } from './table.ts'
import { removeContainer, timedStart } from './timed-start.ts'

const idleMs = 5000
const megabyte = 1024 ** 2
const gigabyte = 1024 ** 3
const names: readonly VariantName[] = ['static', 'bare', 'agent']

interface Idle {
  readonly variant: VariantName
  readonly round: number
  readonly usedBytes: number
  readonly anonymousBytes: number
  readonly cacheBytes: number
}

export const agentMemoryBench: Bench = {
  name: 'agent-memory',
  claim: 'what an idle agent holds, and how many fit into a gigabyte',
  defaultRuns: 5,
  run: async (options) => {
    const ground = await prepareGround(options)
    try {
      return await measure(ground, options)
    } finally {
      await ground.close()
    }
  },
}

/**
 * Starts one container of each kind in a round. The containers of a round are idle at the same time, and run until
 * its end.
 */
async function measure(ground: BenchGround, { runs, progress, signal }: BenchOptions): Promise<BenchReport> {
  const variants = containerVariants(ground)
  const idles: Idle[] = []
  const agentIds: string[] = []
  try {
    for (let round = 0; round < runs; round += 1) {
      progress(`round ${round + 1} of ${runs}`)
      const started = []
      for (const name of names) {
        const agentId = `idle-${name}-${round}`
        started.push({
          name,
          ...(await timedStart(ground, { variant: variants[name], kind: 'worker', agentId, signal })),
        })
        agentIds.push(agentId)
      }
      await delay(idleMs, undefined, { signal })
      for (const { name, group } of started) idles.push({ variant: name, round, ...group.memory() })
    }
  } finally {
    for (const agentId of agentIds) await removeContainer(ground, agentId)
  }
  const labels = { static: variants.static.label, bare: variants.bare.label, agent: variants.agent.label }
  return { tables: [memoryTable(idles, labels)], figures: { image: ground.image, idleMs, idles } }
}

function memoryTable(idles: readonly Idle[], labels: Readonly<Record<VariantName, string>>): Table {
  const column = (variant: VariantName, field: 'usedBytes' | 'anonymousBytes' | 'cacheBytes') =>
    idles.filter((idle) => idle.variant === variant).map((idle) => idle[field])
  const bare = median(column('bare', 'usedBytes'))
  return {
    title: 'Agent memory: idle worker (384 MB at most), after its first /status and 5 s of rest',
    columns: ['', 'MB', 'max', 'anonymous', 'files', 'of bare node', 'per GB'],
    rows: names.map((name) => {
      const used = column(name, 'usedBytes')
      return [
        labels[name],
        figure(median(used) / megabyte, 1),
        figure(Math.max(...used) / megabyte, 1),
        figure(median(column(name, 'anonymousBytes')) / megabyte, 1),
        figure(median(column(name, 'cacheBytes')) / megabyte, 1),
        ratio(median(used) / bare),
        figure(Math.floor(gigabyte / median(used)), 0),
      ]
    }),
    notes: [
      `What the kernel charges to the container's control group, medians of ${column('agent', 'usedBytes').length}. Pages of the image's files are charged to the first reader (a warm-up container) and shared by all.`,
      '"per GB" counts this alone; what the engine keeps for each container outside of it comes on top.',
    ],
  }
}
