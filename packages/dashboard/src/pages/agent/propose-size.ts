const mb = 1024 * 1024

/** From this part of the memory on, a larger size is proposed; below the other, a smaller one. */
const tightPart = 0.85
const widePart = 0.25
/** The steps of proposed memory, and the least that the settings accept, in MB. */
const stepMb = 128
const leastMb = 128

/**
 * Proposes a memory size in MB from the highest use, so that about half stays free; null if the present one fits. A
 * smaller one is proposed only where a quarter is never used. Pure.
 */
export function proposeMemoryMb({
  peakBytes,
  limitBytes,
}: {
  readonly peakBytes: number
  readonly limitBytes: number
}): number | null {
  const part = peakBytes / limitBytes
  if (part < tightPart && part > widePart) return null
  const proposed = Math.max(leastMb, Math.ceil((peakBytes * 2) / mb / stepMb) * stepMb)
  const now = limitBytes / mb
  return part >= tightPart === proposed > now && proposed !== now ? proposed : null
}
