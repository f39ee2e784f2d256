/** How long a server rests after so many failures in a row before it is started again, milliseconds. */
const restsMs = [1000, 5000, 30_000, 120_000, 600_000] as const
/** One that stood for so long has failed for the first time again. */
export const steadyMs = 300_000

/** Pure. */
export function restMs(failures: number): number {
  if (failures <= 0) return 0
  return restsMs[Math.min(failures, restsMs.length) - 1]! // the index is inside the list
}
