/** The delay before the next attempt: `firstMs` after one failure, doubled for each further one, at most `maxMs`. */
export function backoffMs(
  { firstMs, maxMs }: { readonly firstMs: number; readonly maxMs: number },
  failures: number,
): number {
  return Math.min(maxMs, firstMs * 2 ** Math.max(0, failures - 1))
}
