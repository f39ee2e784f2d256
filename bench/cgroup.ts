import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Counters of the kernel for one container. */
export interface ContainerGroup {
  /** CPU time of everything that ran in the container, including its start by the engine, ms. */
  cpuMs(): number
  memory(): GroupMemory
  /** Number of programs that the kernel killed because memory was exhausted. */
  oomKills(): number
}

export interface GroupMemory {
  readonly usedBytes: number
  /** Memory that no file backs: heaps and stacks. The kernel cannot reclaim it. */
  readonly anonymousBytes: number
  readonly cacheBytes: number
}

const mountPoint = '/sys/fs/cgroup'

/** Finds the cgroup of a process of the container, with either cgroup version. */
export function containerGroup(pid: number): ContainerGroup {
  const lines = readFileSync(`/proc/${pid}/cgroup`, 'utf8').trim().split('\n')
  const pathOf = (controller: string) =>
    lines.map((line) => line.split(':')).find(([, names]) => names?.split(',').includes(controller))?.[2]
  const [cpu, memory, unified] = [pathOf('cpuacct'), pathOf('memory'), pathOf('')]
  if (cpu !== undefined && memory !== undefined) return versionOne(cpu, memory)
  if (unified !== undefined) return versionTwo(join(mountPoint, unified))
  throw new Error(`the control group of process ${pid} cannot be read`)
}

function versionOne(cpu: string, memory: string): ContainerGroup {
  const cpuFolder =
    ['cpuacct', 'cpu,cpuacct'].map((name) => join(mountPoint, name, cpu)).find(existsSync) ?? ''
  const memoryFolder = join(mountPoint, 'memory', memory)
  return {
    cpuMs: () => Number(readFileSync(join(cpuFolder, 'cpuacct.usage'), 'utf8')) / 1e6,
    memory: () => {
      const stat = fieldsOf(join(memoryFolder, 'memory.stat'))
      return {
        usedBytes: Number(readFileSync(join(memoryFolder, 'memory.usage_in_bytes'), 'utf8')),
        anonymousBytes: stat('total_rss'),
        cacheBytes: stat('total_cache'),
      }
    },
    oomKills: () => fieldsOf(join(memoryFolder, 'memory.oom_control'))('oom_kill'),
  }
}

function versionTwo(folder: string): ContainerGroup {
  return {
    cpuMs: () => fieldsOf(join(folder, 'cpu.stat'))('usage_usec') / 1000,
    memory: () => {
      const stat = fieldsOf(join(folder, 'memory.stat'))
      return {
        usedBytes: Number(readFileSync(join(folder, 'memory.current'), 'utf8')),
        anonymousBytes: stat('anon'),
        cacheBytes: stat('file'),
      }
    },
    oomKills: () => fieldsOf(join(folder, 'memory.events'))('oom_kill'),
  }
}

function fieldsOf(path: string): (name: string) => number {
  const fields = new Map(
    readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(' ') as [string, string]),
  )
  return (name) => Number(fields.get(name))
}
