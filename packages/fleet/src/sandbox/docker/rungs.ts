import type { IsolationRung } from '@flotilla/protocol/isolation'
import type { Gvisor, GvisorOptions } from '../gvisor/try-gvisor.ts'
import type { MachineBase, Machines, MachinesOptions } from '../machine/index.ts'
import type { Behind } from '../isolation/behind.ts'
import type { RungTrial } from '../sandbox-runtime.ts'

/** The isolation levels of one engine; each is tested by running something on the level. */
export interface Rungs {
  /** Tests an isolation level. A machine image may be built first, which takes minutes; `progress` gets each step. */
  tryIt(rung: IsolationRung, on: MachineBase, progress?: (step: string) => void): Promise<RungTrial>
  /** Returns the last result; without one, tests the level. Rejects with `gvisor-absent` or `machine-absent`. */
  behind(rung: IsolationRung, on: MachineBase): Promise<Behind>
  /** Forgets all results: an engine that was unreachable may have other runtimes now. */
  forget(): void
}

export type RungOptions = GvisorOptions & MachinesOptions

/** Creates the isolation levels. gVisor and virtual machines are loaded by the first agent that needs them. */
export function createRungs(options: RungOptions): Rungs {
  let gvisor: Gvisor | null = null
  let machines: Machines | null = null
  // Two concurrent first calls share the instance of the one whose import resolves first.
  const loadGvisor = async (): Promise<Gvisor> => {
    const { createGvisor } = await import('../gvisor/try-gvisor.ts')
    return (gvisor ??= createGvisor(options))
  }
  const loadMachines = async (): Promise<Machines> => {
    const { createMachines } = await import('../machine/index.ts')
    return (machines ??= createMachines(options))
  }
  return {
    async tryIt(rung, on, progress) {
      if (rung === 'gvisor') return (await loadGvisor()).tryIt(on.engine, on.ground)
      if (rung === 'microvm') return (await loadMachines()).tryIt(on, progress)
      return { available: true, detail: '', repair: '' }
    },
    async behind(rung, on) {
      if (rung === 'gvisor') return { rung, gvisor: await (await loadGvisor()).ground(on.engine, on.ground) }
      if (rung === 'microvm') return { rung, machine: await (await loadMachines()).ground(on) }
      return { rung }
    },
    forget() {
      gvisor?.forget()
      machines?.forget()
    },
  }
}
