import type { Log } from '@flotilla/foundation/platform'
import { reasonOf, SandboxError } from '../sandbox-error.ts'
import type { RungTrial } from '../sandbox-runtime.ts'
import type { MachineGround } from './machine-plan.ts'
import { tryMachine, type MachineBase, type MachineOptions } from './try-machine.ts'

export type { MachineBase } from './try-machine.ts'

export interface MachinesOptions extends MachineOptions {
  readonly log: Log
}

/** Tests in one engine whether virtual machines work, by starting one. */
export interface Machines {
  /**
   * Tests virtual machines. Concurrent callers share one test; steps go to the first caller's `progress` or the log.
   */
  tryIt(on: MachineBase, progress?: (step: string) => void): Promise<RungTrial>
  /** Returns the last result for this agent image, until `forget`. Rejects with `SandboxError` `machine-absent`. */
  ground(on: MachineBase): Promise<MachineGround>
  forget(): void
}

export function createMachines(options: MachinesOptions): Machines {
  let found: { readonly image: string; readonly machine: MachineGround } | null = null
  let underWay: Promise<RungTrial> | null = null
  const known = (image: string): MachineGround | null => (found?.image === image ? found.machine : null)
  const logged = (step: string) => options.log.info({ step }, 'preparing virtual machines for agents')

  async function tryAnew(on: MachineBase, progress: (step: string) => void): Promise<RungTrial> {
    found = null
    const { machine, trial } = await tryMachine(options, { ...on, progress })
    if (machine !== null) found = { image: on.ground.image, machine }
    return trial
  }

  function tryIt(on: MachineBase, progress = logged): Promise<RungTrial> {
    underWay ??= tryAnew(on, progress)
      .catch((error: unknown) => ({ available: false, detail: reasonOf(error), repair: '' }))
      .finally(() => {
        underWay = null
      })
    return underWay
  }

  return {
    tryIt,
    async ground(on) {
      const trial = known(on.ground.image) === null ? await tryIt(on) : null
      const machine = known(on.ground.image)
      if (machine !== null) return machine
      throw new SandboxError(
        'machine-absent',
        `Agents cannot run in virtual machines: ${trial?.detail}\nRepair: ${trial?.repair}`,
      )
    },
    forget: () => {
      found = null
    },
  }
}
