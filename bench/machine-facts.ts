import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os'

/** Facts about the machine, without which its figures have no meaning. */
export interface MachineFacts {
  readonly cores: number
  readonly processor: string
  readonly memoryGb: number
  readonly kernel: string
  readonly system: string
  readonly node: string
  /** Load average of the last minute, before the first measurement. */
  readonly load: number
}

export function readMachineFacts(): MachineFacts {
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model.trim() ?? 'unknown processor',
    memoryGb: totalmem() / 1024 ** 3,
    kernel: release(),
    system: /^PRETTY_NAME="?([^"\n]+)"?$/m.exec(readOrEmpty('/etc/os-release'))?.[1] ?? process.platform,
    node: process.version,
    load: loadavg()[0] ?? 0,
  }
}

export function machineLine(facts: MachineFacts): string {
  return [
    `${facts.cores} cores (${facts.processor})`,
    `${facts.memoryGb.toFixed(1)} GB`,
    `kernel ${facts.kernel}`,
    facts.system,
    `node ${facts.node}`,
    `load ${facts.load.toFixed(2)}`,
  ].join(', ')
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
