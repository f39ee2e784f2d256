import type { IsolationRung } from '@flotilla/protocol/isolation'
import { createGvisor, type GvisorOptions } from '../gvisor/try-gvisor.ts'
import { createMachines, type MachineBase, type MachinesOptions } from '../machine/machines.ts'
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

export function createRungs(options: RungOptions): Rungs {
  const gvisor = createGvisor(options)
  const machines = createMachines(options)
  return {
    async tryIt(rung, on, progress) {
      if (rung === 'gvisor') return gvisor.tryIt(on.engine, on.ground)
      if (rung === 'microvm') return machines.tryIt(on, progress)
      return { available: true, detail: '', repair: '' }
    },
    async behind(rung, on) {
      if (rung === 'gvisor') return { rung, gvisor: await gvisor.ground(on.engine, on.ground) }
      if (rung === 'microvm') return { rung, machine: await machines.ground(on) }
      return { rung }
    },
    forget() {
      gvisor.forget()
      machines.forget()
    },
  }
}
