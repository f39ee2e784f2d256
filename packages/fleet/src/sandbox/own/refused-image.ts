import { SandboxError } from '../sandbox-error.ts'

/** The error for an image of the owner that agents cannot run from. `reason` completes "The image NAME …". */
export function refusedImage(reference: string, reason: string): SandboxError {
  return new SandboxError(
    'own-image-refused',
    `The image ${reference} ${reason}.\nRepair: name another image, or build the image without that and name its new digest.`,
  )
}
