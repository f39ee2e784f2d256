import { isStatus } from '../image/engine-images.ts'
import { reasonOf, SandboxError } from '../sandbox-error.ts'

/** Returns a handler that ignores the given statuses, with which the engine says that nothing needs to be done. */
export function unlessStatus(statuses: readonly number[]): (error: unknown) => void {
  return (error) => {
    if (!statuses.some((status) => isStatus(error, status))) {
      throw new SandboxError(
        'engine-refused',
        `The container engine refused: ${reasonOf(error)}\nRepair: run \`flotilla doctor\`.`,
        { cause: error },
      )
    }
  }
}
