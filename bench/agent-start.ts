import type { Bench, BenchOptions, BenchReport } from './bench.ts'
import { rotated } from './bench.ts'
import { prepareGround } from './container-ground.ts'
import type { BenchGround } from './container-ground.ts'
import { containerVariants } from './container-variants.ts'
import type { AgentKind, Variant, VariantName } from './container-variants.ts'
import { median, pairedRatio, percentile } from './statistics.ts'
import { figure, ratio } from './table.ts'
import type { Table } from './table.ts'
import { removeContainer, timedStart } from './timed-start.ts'
import type { TimedStart } from './timed-start.ts'

type Phases = Omit<TimedStart, 'container' | 'group'>

interface Start extends Phases {
  readonly variant: VariantName
  readonly kind: AgentKind
  readonly round: number
}

const names: readonly VariantName[] = ['static', 'bare', 'agent']
const titles: Readonly<Record<AgentKind, string>> = {
  worker: 'Agent start: worker, 0.15 CPU over 500 ms, 384 MB',
  operator: 'Agent start: operator, 0.05 CPU over 1 s, 128 MB',
}

export const agentStartBench: Bench = {
  name: 'agent-start',
  claim: 'from the creation of a container to the first 200 on /status, and the agent held to its share',
  defaultRuns: 9,
  run: async (options) => {
    const ground = await prepareGround(options)
    try {
      return await measure(ground, options)
    } finally {
      await ground.close()
    }
  },
}

async function measure(ground: BenchGround, { runs, progress, signal }: BenchOptions): Promise<BenchReport> {
  const variants = containerVariants(ground)
  const starts: Start[] = []
  const startOnce = async (variant: Variant, kind: AgentKind): Promise<Phases> => {
    const agentId = `bench-${variant.name}-${kind}`
    const {
      container: _container,
      group: _group,
      ...phases
    } = await timedStart(ground, { variant, kind, agentId, signal })
    await removeContainer(ground, agentId)
    return phases
  }
  for (const name of names) {
    progress(`warming up: ${variants[name].label}`)
    await startOnce(variants[name], 'worker')
  }
  for (let round = 0; round < runs; round += 1) {
    progress(`round ${round + 1} of ${runs}`)
    for (const kind of ['worker', 'operator'] as const) {
      for (const name of rotated(names, round)) {
        starts.push({ variant: name, kind, round, ...(await startOnce(variants[name], kind)) })
      }
    }
  }
  return {
    tables: (['worker', 'operator'] as const).map((kind) => startTable(starts, kind, variants)),
    figures: { image: ground.image, floor: ground.staticServer.label, starts },
  }
}

function startTable(
  starts: readonly Start[],
  kind: AgentKind,
  variants: Readonly<Record<VariantName, Variant>>,
): Table {
  const column = (variant: VariantName, phase: keyof Phases) =>
    starts.filter((start) => start.kind === kind && start.variant === variant).map((start) => start[phase])
  return {
    title: titles[kind],
    columns: [
      '',
      'ready',
      'p90',
      'max',
      'of the floor',
      'create',
      'start',
      'answer',
      'hold',
      'CPU',
      'of bare node',
    ],
    rows: names.map((name) => [
      variants[name].label,
      figure(median(column(name, 'readyMs')), 0),
      figure(percentile(column(name, 'readyMs'), 90), 0),
      figure(Math.max(...column(name, 'readyMs')), 0),
      ratio(pairedRatio(column(name, 'readyMs'), column('static', 'readyMs'))),
      figure(median(column(name, 'createMs')), 0),
      figure(median(column(name, 'startMs')), 0),
      figure(median(column(name, 'answerMs')), 0),
      name === 'agent' ? figure(median(column(name, 'holdMs')), 0) : '',
      figure(median(column(name, 'cpuMs')), 1),
      ratio(pairedRatio(column(name, 'cpuMs'), column('bare', 'cpuMs'))),
    ]),
    notes: [
      `ms, medians of ${column('agent', 'readyMs').length} interleaved starts; ratios within the round. All containers have the same image, system call filter, network, volume, tmpfs and init, and one processor until they answer; only the program differs.`,
      'The agent\'s figure includes what the floors do not need: writing its one-time agent token, and holding it to its share ("hold") before it is given work. "CPU" is what the whole container used until its first answer, the engine\'s runtime inside it included.',
    ],
  }
}
