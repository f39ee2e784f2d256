import { ownerMustActExitCode } from '@flotilla/protocol/owner-must-act'
import { storageFailedExitCode } from '@flotilla/protocol/storage-failed'
import { Problem } from '@flotilla/protocol/problem'
import type { ProblemCode } from '@flotilla/protocol/problem-catalog'
import { storageFaultOf } from '@flotilla/foundation/storage'

/** Problems that every new start would have until the owner changes something. */
const needsOwner: readonly ProblemCode[] = [
  'bad-request',
  'unprocessable',
  'not-configured',
  'mesh-secret-refused',
  'home-unusable',
]

const ofStorage: readonly ProblemCode[] = ['disk-full', 'storage-failing', 'too-many-files']

/**
 * The error that a failed start reports, and its exit code. A failure of the storage may heal by itself: it is
 * reported as such, whatever problem it has led to, so that a supervisor tries again soon. Pure.
 */
export function endOfStart(error: unknown): { readonly error: unknown; readonly exitCode: number } {
  const fault = storageFaultOf(error)
  if (fault !== null) {
    const isOwnProblem = error instanceof Problem && error.code !== fault
    return {
      error: isOwnProblem ? new Problem(fault, { detail: error.detail, cause: error }) : error,
      exitCode: storageFailedExitCode,
    }
  }
  if (error instanceof Problem && ofStorage.includes(error.code))
    return { error, exitCode: storageFailedExitCode }
  const isForOwner = error instanceof Problem && needsOwner.includes(error.code)
  return { error, exitCode: isForOwner ? ownerMustActExitCode : 1 }
}
