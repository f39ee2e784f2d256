import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Engine } from '../packages/fleet/src/sandbox/engine/connect-engine.ts'
import { sandboxSizes } from '../packages/fleet/src/sandbox/default-agent-sizes.ts'
import { sandboxName } from '../packages/fleet/src/sandbox/sandbox-spec.ts'
import { meshHumanEndpoints } from '../packages/protocol/src/mesh-human-api.ts'
import { startAgentStages } from '../tests/support/agent-stages.ts'
import type { AgentStages } from '../tests/support/agent-stages.ts'
import type { Bench, BenchOptions } from './bench.ts'
import { containerGroup } from './cgroup.ts'
import type { ContainerGroup, GroupMemory } from './cgroup.ts'
import { prepareGround } from './container-ground.ts'
import type { BenchGround } from './container-ground.ts'
import { containerVariants } from './container-variants.ts'
import type { AgentKind } from './container-variants.ts'
import { median } from './statistics.ts'
import { figure } from './table.ts'
import type { Table } from './table.ts'
import { removeContainer, timedStart } from './timed-start.ts'

const restMs = 5000
const pollEveryMs = 20
const megabyte = 1024 ** 2
const agents: readonly { readonly id: string; readonly kind: AgentKind }[] = [
  { id: 'operator', kind: 'operator' },
  { id: 'clerk', kind: 'worker' },
]

interface Standing {
  readonly kind: AgentKind
  readonly stage: string
  readonly after: GroupMemory
  /** The maximum during the stage, measured every 20 ms. */
  readonly highest: Pick<GroupMemory, 'usedBytes' | 'anonymousBytes'>
  readonly cpuMs: number
  readonly oomKills: number
}

export const mindFootprintBench: Bench = {
  name: 'mind-footprint',
  claim: 'what an agent holds before and after each thing that it can do, in one life of its container',
  defaultRuns: 1,
  run: async (options) => {
    const ground = await prepareGround(options)
    try {
      const standings: Standing[] = []
      for (const { kind } of agents) standings.push(await floorOf(ground, kind, options))
      for (let round = 0; round < options.runs; round += 1) {
        standings.push(...(await oneRound(ground.engine, options)))
      }
      return {
        tables: agents.map(({ kind }) => footprintTable(standings, kind)),
        figures: { restMs, pollEveryMs, standings },
      }
    } finally {
      await ground.close()
    }
  },
}

/** Measures a minimal Node program in the same container. */
async function floorOf(ground: BenchGround, kind: AgentKind, options: BenchOptions): Promise<Standing> {
  const agentId = `bare-${kind}`
  const variant = containerVariants(ground).bare
  const { group } = await timedStart(ground, { variant, kind, agentId, signal: options.signal })
  try {
    return await stood(group, { kind, stage: 'bare node:http (floor)' }, () =>
      delay(restMs, undefined, { signal: options.signal }),
    )
  } finally {
    await removeContainer(ground, agentId)
  }
}

async function oneRound(engine: Engine, { progress, signal }: BenchOptions): Promise<Standing[]> {
  progress('starting a fleet')
  const life = await startAgentStages()
  const standings: Standing[] = []
  try {
    for (const { id, kind } of agents) {
      await life.mesh.call(meshHumanEndpoints.agentRestart, { params: { id }, body: {}, timeoutMs: 60_000 })
      const group = await groupOf(engine, life, id)
      standings.push(
        await stood(group, { kind, stage: 'idle, before anything' }, () =>
          delay(restMs, undefined, { signal }),
        ),
      )
      for (const { name, run } of life.stages(id)) {
        signal.throwIfAborted()
        progress(`${kind}: ${name}`)
        standings.push(await stood(group, { kind, stage: name }, run))
      }
    }
  } finally {
    await life.close()
  }
  return standings
}

async function groupOf(engine: Engine, life: AgentStages, agentId: string): Promise<ContainerGroup> {
  const homeId = (await readFile(join(life.mesh.home, 'data', 'home-id'), 'utf8')).trim()
  const { State: state } = await engine.docker.getContainer(sandboxName(homeId, agentId)).inspect()
  return containerGroup(state.Pid)
}

async function stood(
  group: ContainerGroup,
  named: Pick<Standing, 'kind' | 'stage'>,
  run: () => Promise<unknown>,
): Promise<Standing> {
  const cpuBefore = group.cpuMs()
  const seen: GroupMemory[] = []
  const looking = setInterval(() => seen.push(group.memory()), pollEveryMs)
  try {
    await run()
  } finally {
    clearInterval(looking)
  }
  const after = group.memory()
  seen.push(after)
  return {
    ...named,
    after,
    highest: {
      usedBytes: Math.max(...seen.map(({ usedBytes }) => usedBytes)),
      anonymousBytes: Math.max(...seen.map(({ anonymousBytes }) => anonymousBytes)),
    },
    cpuMs: group.cpuMs() - cpuBefore,
    oomKills: group.oomKills(),
  }
}

function footprintTable(all: readonly Standing[], kind: AgentKind): Table {
  const limitBytes = sandboxSizes[kind].memoryLimitBytes
  const standings = all.filter((standing) => standing.kind === kind)
  const stages = [...new Set(standings.map(({ stage }) => stage))]
  const inMb = (bytes: number) => figure(bytes / megabyte, 1)
  return {
    title: `What an agent holds: ${kind}, ${limitBytes / megabyte} MB at most`,
    columns: ['after', 'MB', 'anonymous', 'highest', 'anonymous', 'of the limit', 'CPU ms', 'OOM kills'],
    rows: stages.map((stage) => {
      const rows = standings.filter((standing) => standing.stage === stage)
      const highest = Math.max(...rows.map((row) => row.highest.anonymousBytes))
      return [
        stage,
        inMb(median(rows.map(({ after }) => after.usedBytes))),
        inMb(median(rows.map(({ after }) => after.anonymousBytes))),
        inMb(Math.max(...rows.map((row) => row.highest.usedBytes))),
        inMb(highest),
        `${figure((highest / limitBytes) * 100, 0)} %`,
        figure(median(rows.map(({ cpuMs }) => cpuMs)), 0),
        figure(Math.max(...rows.map(({ oomKills }) => oomKills)), 0),
      ]
    }),
    notes: [
      `What the kernel charges to the container's control group, all its programs included. "highest" is the most while that went on, measured every ${pollEveryMs} ms; "anonymous" is the part without a file behind it, and "of the limit" the most of it. Pages of files fill the rest and are given back when there is need.`,
      'One life: each row adds to those above it, and the MCP server runs on from its row. "OOM kills" counts since the start.',
    ],
  }
}
