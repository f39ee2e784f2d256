import { isStatus } from '../image/engine-images.ts'
import { reasonOf, SandboxError } from '../sandbox-error.ts'

/** What is already as asked for is no failure. */
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
