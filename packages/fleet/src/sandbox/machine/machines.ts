import type { Log } from '@flotilla/foundation/platform'
import { reasonOf, SandboxError } from '../sandbox-error.ts'
import type { RungTrial } from '../sandbox-runtime.ts'
import type { MachineGround } from './machine-plan.ts'
import { tryMachine, type MachineBase, type MachineOptions } from './try-machine.ts'

export type { MachineBase } from './try-machine.ts'

export interface MachinesOptions extends MachineOptions {
  readonly log: Log
}

/** For how many images the result of a test is kept; afterwards all are tested again. */
const imagesMax = 32

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
  const found = new Map<string, MachineGround>()
  const underWay = new Map<string, Promise<RungTrial>>()
  const known = (image: string): MachineGround | null => found.get(image) ?? null
  const logged = (step: string) => options.log.info({ step }, 'preparing virtual machines for agents')

  async function tryAnew(on: MachineBase, progress: (step: string) => void): Promise<RungTrial> {
    const { image } = on.ground
    found.delete(image)
    const { machine, trial } = await tryMachine(options, { ...on, progress })
    if (found.size >= imagesMax) found.clear()
    if (machine !== null) found.set(image, machine)
    return trial
  }

  function tryIt(on: MachineBase, progress = logged): Promise<RungTrial> {
    const { image } = on.ground
    const trial =
      underWay.get(image) ??
      tryAnew(on, progress)
        .catch((error: unknown) => ({ available: false, detail: reasonOf(error), repair: '' }))
        .finally(() => underWay.delete(image))
    underWay.set(image, trial)
    return trial
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
    forget: () => found.clear(),
  }
}
