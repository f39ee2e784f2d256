/** One file is allowed for this many bytes of data, the same ratio that ext4 uses for inodes. */
const bytesPerFile = 16_384
/** The minimum, so that a small limit still allows a project with its dependencies. */
const filesMin = 16_384

/** The number of files and folders allowed below `/data`, computed from the size limit. Pure. */
export function fileCountMax(limitBytes: number): number {
  return Math.max(filesMin, Math.floor(limitBytes / bytesPerFile))
}
