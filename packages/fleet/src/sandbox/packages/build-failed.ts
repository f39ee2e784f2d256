import { SandboxError } from '../sandbox-error.ts'

/** The error for everything about which no rule says more. */
export function failed(reason: string): SandboxError {
  return new SandboxError(
    'packages-failed',
    `The image with packages was not built: ${reason}\nRepair: correct what the output names, or remove the package from the list.`,
  )
}
