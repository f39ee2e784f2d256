/** An agent may store one file for this many bytes of its limit, the same ratio that ext4 uses for inodes. */
const bytesPerFile = 16_384
/** The minimum number of files, so that even a small limit allows a project with its dependencies. */
const filesMin = 16_384

/** Returns the number of files and folders allowed below `/data`, from the size limit. Pure. */
export function fileCountMax(limitBytes: number): number {
  return Math.max(filesMin, Math.floor(limitBytes / bytesPerFile))
}
