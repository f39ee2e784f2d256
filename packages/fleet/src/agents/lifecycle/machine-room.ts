import { isLive } from '@flotilla/protocol/agent-lifecycle'
import { Problem } from '@flotilla/protocol/problem'
import { agentSize, sizeMark } from '../../sandbox/index.ts'
import type { AgentSize, BesideAgents, Capacity, SandboxSpec } from '../../sandbox/index.ts'
import type { AgentTable } from '../registry/agent-table.ts'

const mb = 1024 * 1024
/** Memory of the machine that is left to the mesh, the engine and the system, in bytes. */
export const reserveBytes = 1024 * mb
/**
 * The part of its limit with which an agent of the default size counts. It uses about as much when it is idle, so that
 * fleets of many small agents start as they do without sizes.
 */
const defaultSizePart = 1 / 4
/** How many agents are named in the reason of a wait. */
const namedMax = 5

/**
 * The memory of the machine, shared by agents that run at once. Agents with the default size or less always start.
 * A larger agent starts if the sum fits, with builds of images and browsers that run then.
 */
export interface MachineRoom {
  /** Returns what agents may use of the machine; null if a scheduler decides or nothing limits agents. */
  capacity(): Capacity | null
  /** Throws the Problem `size-unavailable` if the machine is too small for the size. */
  requirePossible(agentId: string, size: AgentSize): void
  /**
   * Counts the agent until the returned function is called, and then for as long as its sandbox runs. Problems
   * `machine-full` if the agent has to wait, `size-unavailable` if the machine is too small for it.
   */
  enter(agent: {
    readonly agentId: string
    readonly kind: SandboxSpec['kind']
    readonly size: AgentSize
  }): () => void
}

export function createMachineRoom(deps: {
  readonly capacity: () => Capacity | null
  /** Returns the containers beside those of agents. */
  readonly beside: () => readonly BesideAgents[]
  readonly agents: Pick<AgentTable, 'list'>
  /** Marks of the sizes of running sandboxes. */
  readonly startedSizes: ReadonlyMap<string, string>
}): MachineRoom {
  /** Agents whose start is under way, with the memory that each counts with. */
  const starting = new Map<string, number>()

  function countedBytes(agentId: string, kind: SandboxSpec['kind']): number {
    const [memory] = (deps.startedSizes.get(agentId) ?? '').split('/')
    return countOf(kind, memory ? Number(memory) : agentSize(kind).memoryLimitBytes)
  }

  /** Returns the memory with which each other agent and container counts now, largest first. */
  function others(agentId: string): readonly { readonly id: string; readonly bytes: number }[] {
    const agents = deps.agents
      .list()
      .filter(({ record: { id }, state }) => id !== agentId && (starting.has(id) || isUp(state.kind)))
      .map(({ record: { id, kind } }) => ({ id, bytes: starting.get(id) ?? countedBytes(id, kind) }))
    return [
      ...agents,
      ...deps.beside().map(({ name, memoryBytes }) => ({ id: name, bytes: memoryBytes })),
    ].toSorted((one, other) => other.bytes - one.bytes)
  }

  return {
    capacity: () => {
      const capacity = deps.capacity()
      return capacity && { ...capacity, memoryBytes: capacity.memoryBytes - reserveBytes }
    },
    requirePossible: (agentId, size) => {
      const capacity = deps.capacity()
      if (capacity !== null) requirePossible(agentId, size, { capacity, repair: 'Choose a smaller size.' })
    },
    enter: ({ agentId, kind, size }) => {
      const { memoryLimitBytes: bytes } = size
      const isLarger = bytes > agentSize(kind).memoryLimitBytes
      const capacity = deps.capacity()
      const repair = `Reduce agents.${agentId}.size in config/settings.json, then: flotilla restart ${agentId}`
      if (capacity !== null && sizeMark(kind, size) !== '')
        requirePossible(agentId, size, { capacity, repair })
      if (capacity !== null && isLarger) {
        const running = others(agentId)
        const sum = running.reduce((total, one) => total + one.bytes, 0)
        const free = capacity.memoryBytes - reserveBytes - sum
        if (bytes > free) throw full({ agentId, bytes, free, running })
      }
      starting.set(agentId, countOf(kind, bytes))
      return () => starting.delete(agentId)
    },
  }
}

function isUp(kind: Parameters<typeof isLive>[0]): boolean {
  return isLive(kind) || kind === 'starting'
}

/** Returns the memory with which an agent counts, before and after its start alike. */
function countOf(kind: SandboxSpec['kind'], bytes: number): number {
  return bytes > agentSize(kind).memoryLimitBytes ? bytes : bytes * defaultSizePart
}

function requirePossible(
  agentId: string,
  { memoryLimitBytes, cpu }: AgentSize,
  { capacity, repair }: { readonly capacity: Capacity; readonly repair: string },
): void {
  const availableBytes = capacity.memoryBytes - reserveBytes
  if (memoryLimitBytes > availableBytes)
    throw tooLarge(
      agentId,
      `${inMb(memoryLimitBytes)} of memory, and this machine has ${inMb(availableBytes)}`,
      repair,
    )
  const cpus = cpu.quotaUs / cpu.periodUs
  if (cpus > capacity.cpus)
    throw tooLarge(agentId, `${cpus} processors, and this machine has ${capacity.cpus}`, repair)
}

function tooLarge(agentId: string, what: string, repair: string): Problem {
  return new Problem('size-unavailable', {
    detail: `the size of ${agentId} needs ${what} for agents`,
    repair,
  })
}

function full(of: {
  readonly agentId: string
  readonly bytes: number
  readonly free: number
  readonly running: readonly { readonly id: string; readonly bytes: number }[]
}): Problem {
  const named = of.running.slice(0, namedMax).map(({ id, bytes }) => `${id} (${inMb(bytes)})`)
  const more = of.running.length - named.length
  const list = [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ')
  return new Problem('machine-full', {
    detail: `agent ${of.agentId} waits for ${inMb(of.bytes)} of memory: ${inMb(Math.max(0, of.free))} are free beside ${list}`,
  })
}

function inMb(bytes: number): string {
  return `${Math.floor(bytes / mb)} MB`
}
