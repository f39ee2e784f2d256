/** Bytes of data for which one file is allowed: what ext4 itself reckons with. */
const bytesPerFile = 16_384
/** A small limit still holds a project with its dependencies. */
const filesMin = 16_384

/** Files and folders that may lie below `/data`, by its limit. Pure. */
export function fileCountMax(limitBytes: number): number {
  return Math.max(filesMin, Math.floor(limitBytes / bytesPerFile))
}
